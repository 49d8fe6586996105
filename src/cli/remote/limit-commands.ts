import type { Command } from 'commander';
import type { CliPieces } from '../cli-pieces.ts';
import type { ShownLimits } from '../limit-table.ts';
import { jsonText } from '../terminal-text.ts';
import { addCommon, type Common, connect } from './command-shape.ts';

export function addLimits(program: Command, pieces: CliPieces): void {
  addCommon(program.command('limits'))
    .description('show your limits and quotas, and what you use of them')
    .action(async (options: Common) => {
      const client = await connect(pieces, options);
      const limits = await client.call<ShownLimits & Record<string, unknown>>('GET', '/v2/account/limits');
      const { formatUserLimits } = await import('../limit-table.ts');
      pieces.print(options.json ? jsonText(limits) : formatUserLimits(limits, pieces.screen));
    });
}
