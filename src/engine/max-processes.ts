const PER_CPU = 1024;
const LEAST = 2048;
const MOST = 4096;

/**
 * The processes and threads of a container with so many CPUs; null: without a limit. Enough for compilers, package managers and data
 * loaders, and for libraries that start a thread for each CPU of the machine, whatever the container's share of it. An end to a program
 * that forks without one: the more of them share a CPU, the longer the kernel holds its locks for each.
 */
export function maxProcesses(cpus: number | null): number {
  return cpus === null ? MOST : Math.min(MOST, Math.max(LEAST, PER_CPU * Math.ceil(cpus)));
}
