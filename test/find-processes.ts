import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the ids of this machine's processes with the text in their command line or environment, its parts separated by spaces.
 * Reads one after the other: there may be thousands, and a process may have ended meanwhile.
 */
export function findProcesses(text: string | RegExp, file: 'cmdline' | 'environ' = 'cmdline'): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const content = read(pid, file);
    return typeof text === 'string' ? content.includes(text) : text.test(content);
  });
}

/** Empty for a process that has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
