/**
 * The errors of a refused body in people's words: `/scaling/idleTimeout: must be >= 1` is "Idle timeout: at least 1 second". The
 * console and the command line share them. The interface keeps its own form, which programs read. Pure.
 */

/** A field's name for people, and the unit of its numbers. */
type Words = readonly [label: string, one?: string, many?: string];

const GB: readonly [string, string] = ['GB', 'GB'];

/** By path, with `.` between the parts. Others are named after their last part: `maxAge` is "Max age". */
const FIELDS: Readonly<Record<string, Words>> = {
  args: ['Arguments'],
  'cpu.id': ['CPU'],
  'cpu.vcpuCount': ['vCPUs'],
  cpu: ['CPU'],
  dataCenter: ['Data center'],
  dataCenterIds: ['Data centers'],
  disk: ['Container disk', ...GB],
  env: ['Environment variables'],
  'gpu.count': ['GPUs per worker', 'GPU', 'GPUs'],
  'gpu.id': ['GPU'],
  'gpu.pools': ['GPU pools', 'pool', 'pools'],
  gpu: ['GPU'],
  minCudaVersion: ['Oldest CUDA version'],
  allowedCudaVersions: ['Allowed CUDA versions'],
  excludedGpuTypes: ['Excluded GPU types'],
  'mounts.network.path': ['Mount path'],
  'mounts.network.volumeId': ['Network volume'],
  'mounts.persistent.path': ['Mount path'],
  'mounts.persistent.size': ['Size', ...GB],
  networkVolumes: ['Network volumes'],
  podCount: ['Pods', 'pod', 'pods'],
  publicKey: ['Public key'],
  'scaling.idleTimeout': ['Idle timeout', 'second', 'seconds'],
  'scaling.queueDelay': ['Target delay', 'second', 'seconds'],
  'scaling.requestCount': ['Requests per worker'],
  'scaling.value': ['Scaling target'],
  size: ['Size', ...GB],
  timeout: ['Execution timeout', 'millisecond', 'milliseconds'],
  'workers.idleTimeout': ['Idle timeout', 'second', 'seconds'],
  'workers.max': ['Max workers', 'worker', 'workers'],
  'workers.min': ['Min workers', 'worker', 'workers'],
};

/** Names of several things. */
const PLURAL = /^(?:Arguments|Data centers|.*variables|GPU pools|GPUs .*|Network volumes|Pods|Ports|Scopes|vCPUs)$/;

const REQUIRED = /^must have required property '([^']+)'$/;
const UNKNOWN = /^additional property '([^']+)' is not allowed$/;
const FEWER = /^must NOT have fewer than (\d+) (characters|items|properties)$/;
const MORE = /^must NOT have more than (\d+) (characters|items|properties)$/;
const LIMIT = /^must be (>=|<=|>|<) (-?[\d.]+)$/;
const COMPARED: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'more than',
  '<': 'less than',
};
const KINDS: Readonly<Record<string, string>> = {
  'must be integer': 'must be a whole number',
  'must be string': 'must be text',
  'must be number': 'must be a number',
  'must be boolean': 'must be true or false',
  'must be array': 'must be a list',
  'must be a date-time': 'is not a time such as 2026-11-20T10:00:00Z',
  'must be multiple of 1': 'must be a whole number',
};

export interface FieldError {
  /** The path of the field in the body, with `.` between its parts; empty: the whole body. */
  field: string;
  /** A sentence with the field's name: `Name is required`. */
  text: string;
}

/** Returns one string of a problem's `errors` as the field it is about, and the words for it. */
export function wordFieldError(error: string): FieldError {
  const at = error.indexOf(': ');
  const [location, fault] = at === -1 ? ['', error] : [error.slice(0, at), error.slice(at + 2)];
  const path = location
    .replace(/^(?:\$|query)?\/?/, '')
    .split('/')
    .filter((part) => part !== '');
  const missing = REQUIRED.exec(fault)?.[1] ?? UNKNOWN.exec(fault)?.[1];
  const whole = missing === undefined ? path : [...path, missing];
  return { field: whole.join('.'), text: sentence(whole, fault) };
}

function sentence(path: readonly string[], fault: string): string {
  if (path.length === 0) return upperFirst(fault);
  const [label, one, many] = wordsOf(path);
  if (UNKNOWN.test(fault)) return `${label} is not a setting here`;
  const text = faultText(fault, one, many);
  if (text.startsWith('must ')) return `${label} ${text}`;
  if (!text.startsWith('is ')) return `${label}: ${text}`;
  return `${label} ${PLURAL.test(label) ? text.replace('is', 'are') : text}`;
}

function faultText(fault: string, one: string | undefined, many: string | undefined): string {
  const counted = (count: string, unit = count === '1' ? one : many) =>
    unit === undefined ? count : `${count} ${unit}`;
  const [, fewer, fewerOf] = FEWER.exec(fault) ?? [];
  if (fewer !== undefined) return fewer === '1' ? 'is required' : `at least ${counted(fewer, fewerOf)}`;
  const [, more, moreOf] = MORE.exec(fault) ?? [];
  if (more !== undefined) return `at most ${counted(more, more === '1' ? moreOf?.replace(/s$/, '') : moreOf)}`;
  const [, comparison, limit] = LIMIT.exec(fault) ?? [];
  if (comparison !== undefined) return `${COMPARED[comparison]} ${counted(limit!)}`;
  if (REQUIRED.test(fault)) return 'is required';
  return fault.startsWith('must match pattern ') ? 'is not in the right form' : (KINDS[fault] ?? fault);
}

/** The words of the longest known end of a path. Positions in lists are left out, names of variables are kept. */
function wordsOf(path: readonly string[]): Words {
  const names = path.filter((part) => !/^\d+$/.test(part));
  if (names[0] === 'env' && names.length === 2) return [`Environment variable ${names[1]}`];
  for (let from = 0; from < names.length; from++) {
    const known = FIELDS[names.slice(from).join('.')];
    if (known) return known;
  }
  const last = names.at(-1) ?? path.at(-1)!;
  return [upperFirst(last.replaceAll(/([a-z])([A-Z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`))];
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
