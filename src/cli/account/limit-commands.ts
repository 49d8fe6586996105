import type { Command } from 'commander';
import type { ShownLimits } from '../access/limit-table.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, type Common, connect } from '../shared/command-shape.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export function addLimits(program: Command, pieces: CliPieces): void {
  addCommon(program.command('limits'))
    .description('show your limits and quotas, and what you use of them')
    .action(async (options: Common) => {
      const client = await connect(pieces, options);
      const limits = await client.call<ShownLimits & Record<string, unknown>>('GET', '/v2/account/limits');
      const { formatUserLimits } = await import('../access/limit-table.ts');
      pieces.print(options.json ? jsonText(limits) : formatUserLimits(limits, pieces.screen));
    });
}
