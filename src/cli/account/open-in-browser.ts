import { spawn } from 'node:child_process';
import type { CliPieces } from '../shared/cli-pieces.ts';

/** Opens a URL in a browser of this machine, and says so if there is none. The URL must hold no secret: process lists show it. */
export function openInBrowser({ terminal, note }: Pick<CliPieces, 'terminal' | 'note'>, url: string): void {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(opener, [url], { stdio: 'ignore', detached: true, env: { ...terminal.env } })
    .on('error', () => note('No browser could be started: open the URL yourself.'))
    .unref();
}
