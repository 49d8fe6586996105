import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Usage of a process and its descendants so far. */
export interface Usage {
  cpuSeconds: number;
  /** The part spent in the kernel: mostly for sockets. */
  systemSeconds: number;
  rssMb: number;
}

interface ProcessStat {
  pid: number;
  parent: number;
  name: string;
  cpuTicks: number;
  systemTicks: number;
  rssPages: number;
}

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const PAGE_BYTES = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));

/**
 * Returns CPU time and resident memory of a process and its descendants, except a PostgreSQL among them. CPU time of ended
 * children is included once their parent has reaped them. RSS counts shared pages once per process.
 */
export function usageOfTree(pid: number): Usage {
  const children = Map.groupBy(listProcesses(), (process) => process.parent);
  const root = readStat(pid);
  const isPart = (child: ProcessStat) => child.name !== 'postgres' || root.name === 'postgres';
  const found = [root];
  for (let i = 0; i < found.length; i++) found.push(...(children.get(found[i]!.pid) ?? []).filter(isPart));
  const sum = (pick: (process: ProcessStat) => number) => found.reduce((total, process) => total + pick(process), 0);
  return {
    cpuSeconds: sum((process) => process.cpuTicks) / TICKS_PER_SECOND,
    systemSeconds: sum((process) => process.systemTicks) / TICKS_PER_SECOND,
    rssMb: (sum((process) => process.rssPages) * PAGE_BYTES) / 2 ** 20,
  };
}

/** Returns the CPU time of a process and its living children, to the microsecond: for what is too short for `usageOfTree`. */
export function cpuMicrosOfTree(pid: number): number {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
  return [String(pid), ...pids].reduce((sum, each) => sum + cpuMicros(each), 0);
}

function cpuMicros(pid: string): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanos = threads.map((id) =>
      Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]),
    );
    return nanos.reduce((sum, each) => sum + each, 0) / 1000;
  } catch {
    return 0; // it has ended
  }
}

/** Returns the pid of the PostgreSQL server whose data is below `dir`, identified by its working directory. */
export function findPostgresBelow(dir: string): number {
  const processes = listProcesses().filter((process) => process.name === 'postgres' && isBelow(process.pid, dir));
  const server = processes.find((process) => !processes.some((other) => other.pid === process.parent));
  if (!server) throw new Error(`no PostgreSQL runs in ${dir}`);
  return server.pid;
}

function isBelow(pid: number, dir: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(`${dir}/`);
  } catch {
    return false; // it has ended
  }
}

/** CPU seconds used on all processors since boot, by anything, including time stolen by the host. */
export function machineBusySeconds(): number {
  const [, user, nice, system, , , irq, softIrq, steal] = readFileSync('/proc/stat', 'latin1')
    .split('\n')[0]!
    .split(/ +/);
  return [user, nice, system, irq, softIrq, steal].reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}

function listProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readStat(Number(name))];
      } catch {
        return []; // it has ended
      }
    });
}

/** Fields: proc_pid_stat(5). The command name may contain blanks and parentheses, so fields are counted from its end. */
function readStat(pid: number): ProcessStat {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const nameEnd = text.lastIndexOf(')');
  const fields = text.slice(nameEnd + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  return {
    pid,
    parent: field(4),
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    cpuTicks: field(14) + field(15) + field(16) + field(17),
    systemTicks: field(15) + field(17),
    rssPages: field(24),
  };
}
