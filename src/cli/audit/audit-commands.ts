import { type Command, Option } from 'commander';
import type { Flags } from '../../config/settings.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect, onDatabase } from '../shared/command-shape.ts';
import { addDatabaseOptions, parsePositive } from '../shared/options.ts';
import type { AuditOptions } from './show-audit.ts';

export function addAudit(program: Command, pieces: CliPieces): void {
  const audit = program.command('audit').description('who changed what');
  addFilters(addCommon(audit.command('list', { isDefault: true })))
    .description('list entries of the audit log, newest first')
    .option('--limit <number>', 'so many at most (default: 50)', parsePositive)
    .action(async (options: Common & AuditOptions & { limit?: number }) => {
      const { listAudit } = await import('./show-audit.ts');
      await listAudit(await connect(pieces, options), options, pieces);
    });
  addFilters(addCommon(audit.command('export')))
    .description('print entries as JSON lines, oldest first')
    .action(async (options: Common & AuditOptions) => {
      const { exportAudit } = await import('./show-audit.ts');
      await exportAudit(await connect(pieces, options), options, pieces);
    });
  addDatabaseOptions(audit.command('verify'))
    .description('compare the audit log in the database with its chain of hashes')
    .option('--head <hash>', 'a hash that an earlier run printed, and that must still be in the chain')
    .option('--json', 'print the report as JSON')
    .action(async ({ head, json, ...flags }: Flags & { head?: string; json?: boolean }) => {
      const { verifyAudit } = await import('./verify-audit.ts');
      await onDatabase(pieces, flags, ({ pool }) => verifyAudit(pool, { head, isJson: json === true }, pieces));
    });
}

function addFilters(command: Command): Command {
  return command
    .option('--user <name>', "of another user's records, by name or id, for admins; all: everybody's")
    .option('--by <name>', 'done by this user, by name or id')
    .option('--operation <name>', 'an operation such as endpoint.update, or a kind of record such as endpoint')
    .option('--record <id>', 'on this record')
    .addOption(new Option('--outcome <outcome>', 'that ended like this').choices(['done', 'refused', 'failed']))
    .option('--since <time>', 'at or after this time, such as 2026-11-01 or 2026-11-01T08:00Z')
    .option('--until <time>', 'before this time');
}
