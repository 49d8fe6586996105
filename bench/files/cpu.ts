import { readFile } from 'node:fs/promises';

/** Returns the CPU time of a process and its children. */
export async function cpuMsOf(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  let ticks = 0;
  for (const one of [pid, ...children]) {
    const stat = await readFile(`/proc/${one}/stat`, 'utf8').catch(() => '');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  }
  return ticks * 10;
}
