import { type Command, Option } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import type { ImportOptions } from './run-import.ts';

const KINDS = ['volume', 'registry', 'secret', 'template', 'endpoint'];

export function addImport(program: Command, pieces: CliPieces): void {
  addCommon(program.command('import'))
    .description('make the endpoints, templates, volumes, registries and secrets of another server here, after a plan')
    .requiredOption('--from <url>', 'URL of the other side, which must speak REST v2')
    .option('--key <key>', 'its API key; -: prompted for, or read from stdin (default: PODYARD_IMPORT_KEY, or -)')
    .option('--secrets <file>', 'JSON with values of secrets and credentials of registries; they are never copied')
    .option('--data-center <id>', 'put everything that names a data center into this one')
    .addOption(new Option('--only <kind...>', 'only these').choices(KINDS))
    .option('--dry-run', 'only show the plan')
    .option('--yes', 'make it without asking')
    .action(async (options: ImportOptions & Common) => {
      const { runImport } = await import('./run-import.ts');
      await runImport(pieces, await connect(pieces, options), options);
    });
}
