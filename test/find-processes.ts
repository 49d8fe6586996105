import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the ids of this machine's processes with the text in their command line or environment, its parts separated by spaces.
 * Reads one after the other: there may be thousands, and a process may have ended meanwhile.
 */
export function findProcesses(text: string | RegExp, file: 'cmdline' | 'environ' = 'cmdline'): number[] {
  return allPids().filter((pid) => has(pid, text, file));
}

/** Returns the oldest of them: reading thousands would keep this process from its work. */
export function findProcess(text: string | RegExp): number | undefined {
  return allPids().find((pid) => has(pid, text, 'cmdline'));
}

function allPids(): number[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return names.map(Number);
}

function has(pid: number, text: string | RegExp, file: 'cmdline' | 'environ'): boolean {
  const content = read(pid, file);
  return typeof text === 'string' ? content.includes(text) : text.test(content);
}

/** Empty for a process that has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
