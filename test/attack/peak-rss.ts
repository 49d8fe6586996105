import { readFileSync, writeFileSync } from 'node:fs';

/** Starts the measurement of `peakRssMb` anew (man 5 proc_pid_clear_refs). */
export function resetPeakRss(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The most memory that the process has had in RAM since then. */
export function peakRssMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) / 1024;
}
