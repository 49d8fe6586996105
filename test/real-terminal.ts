import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { newId } from '../src/core/ids.ts';
import { until } from './e2e/api.ts';
import { MAIN } from './podyard-main.ts';

export const hasTmux = (() => {
  try {
    execFileSync('tmux', ['-V']);
    return true;
  } catch {
    return false;
  }
})();

/** A shell in a terminal of tmux, with `podyard` as a command: what a person types, and what the screen shows. */
export class RealTerminal {
  readonly #socket = `podyard-${newId()}`;
  readonly #home: string;
  #typed = 0;

  /** Opens one in the folder `home`, which is its HOME as well. */
  constructor(home: string, env: Readonly<Record<string, string>>) {
    this.#home = home;
    const begin = join(home, '.begin.bash');
    const variables = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
    writeFileSync(
      begin,
      `PS1='$ '; cd ${home}; podyard() { ${process.execPath} ${MAIN} "$@"; }\n${variables.join('')}`,
    );
    // CI=true would turn the progress display off.
    const shell = ['env', '-u', 'CI', 'bash', '--norc'];
    this.#tmux('-f', '/dev/null', 'new-session', '-d', '-x', '160', '-y', '40', ...shell);
    this.send(`source ${begin}`, 'Enter');
  }

  /** Lines that are too long for the screen are joined. */
  get screen(): string {
    return this.#tmux('capture-pane', '-p', '-J');
  }

  /** Presses keys, as `tmux send-keys` names them; any other text is typed. */
  send(...keys: string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  /** Begins a command line on an empty screen. Returns what awaits its end with `status`, and gives what the screen shows then. */
  begin(line: string): (status?: number) => Promise<string> {
    const mark = `end-${++this.#typed}`; // what is on the screen may be an earlier command's
    this.send(`clear; ${line}; echo "${mark} $?"`, 'Enter');
    return async (status = 0) => {
      const text = await until(`'${line}' ends`, async () => {
        const { screen } = this;
        return new RegExp(`^${mark} \\d+$`, 'm').test(screen) ? screen : undefined;
      });
      expect(text).toContain(`${mark} ${status}`);
      return text;
    };
  }

  /** Types a command line and returns what the screen shows when it has ended with `status`. */
  type(line: string, status = 0): Promise<string> {
    return this.begin(line)(status);
  }

  close(): void {
    try {
      this.#tmux('kill-server');
    } catch {
      // It ended together with its shell.
    }
  }

  #tmux(...args: string[]): string {
    const env = { ...process.env, HOME: this.#home };
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8', env });
  }
}
