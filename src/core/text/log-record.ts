/**
 * Reads the lines of JSON that loggers write: those of the worker kits and of the public SDK, of pino, structlog and python-json-logger. A
 * line is stored as it was written, and parsed when it is shown (docs/interface/logs.md).
 */

import { LEVEL_MEMBERS, type LogLevel, levelOf } from './log-levels.ts';

/** The record in a line of JSON. */
export interface LogRecord {
  level: LogLevel | null;
  /** Its message. Members without a place of their own follow as `name=value`: nothing that a program logged is hidden. */
  message: string;
  /** The job that it is about, if it names one. */
  jobId: string | null;
  /** The stack of an error, of several lines. */
  traceback: string | null;
}

/** Longer lines are text: they are none of a logger's. */
const MAX_CHARACTERS = 65_536;

const MESSAGES = ['message', 'msg', 'event'];
/** The first is the SDK's and the kits'. */
const JOBS = ['requestId', 'jobId', 'job_id'];
const STACKS = ['traceback', 'error_traceback', 'stack', 'stacktrace', 'stack_trace', 'exc_info', 'exception'];
const ERRORS = ['err', 'error'];
/** Said by the time of the line. */
const TIMES = ['time', 'timestamp', 'ts', '@timestamp', 'asctime'];
/** Said by the stack of an error. */
const TOLD_BY_STACK = ['name', 'type', 'message'];

const JOB_ID = /^[\w-]{1,128}$/;
const PLAIN_NAME = /^[\w.@-]+$/;
const PLAIN_VALUE = /^[^\s"=]+$/;
const PYTHON_TRACEBACK = /^Traceback \(most recent call last\):/;
/** The second line of a JavaScript stack. */
const STACK_LINE = /^[^\n]*\n {4}at /;

type Members = Record<string, unknown>;

/** Returns what a line says if it is the JSON of a logger; null for any other, also for JSON that only looks similar. */
export function readLogRecord(line: string): LogRecord | null {
  if (!line.startsWith('{') || line.length > MAX_CHARACTERS) return null;
  const members = parseObject(line);
  if (members === null) return null;
  const levelName = LEVEL_MEMBERS.find((name) => levelOf(members[name]) !== null);
  const jobName = JOBS.find((name) => typeof members[name] === 'string' && JOB_ID.test(members[name]));
  const messageName = MESSAGES.find((name) => typeof members[name] === 'string');
  const stackName = STACKS.find((name) => isStack(members[name]));
  const errorName = stackName === undefined ? ERRORS.find((name) => stackIn(members[name]) !== undefined) : undefined;
  const stack = stackName === undefined ? stackIn(members[errorName ?? '']) : (members[stackName] as string);
  if (messageName === undefined && stack === undefined) return null;
  if (levelName === undefined && jobName === undefined && stack === undefined) return null;
  const said = split((members[messageName ?? ''] as string | undefined) ?? '', stack);
  const placed = [levelName, messageName, jobName, stackName, ...TIMES.filter((name) => isTime(members[name]))];
  const others = Object.entries(members).filter(
    ([name, value]) => !placed.includes(name) && !(value === null && JOBS.includes(name)),
  );
  const texts = others.map(([name, value]) => textOf(name, name === errorName ? restOf(value as Members) : value));
  if (texts.includes(null)) return null;
  return {
    level: levelOf(members[levelName ?? '']),
    message: [said.message, ...texts].filter(Boolean).join(' '),
    jobId: jobName === undefined ? null : (members[jobName] as string),
    traceback: said.traceback,
  };
}

/** Returns a traceback's lines without the message: a stack of JavaScript begins with it. */
export function tracebackLines({ message, traceback }: LogRecord): string[] {
  if (traceback === null) return [];
  const lines = traceback.split(/\r?\n/);
  return lines.length > 1 && lines[0] === message ? lines.slice(1) : lines;
}

/** Returns the lines of a message; one, except for a program that logs several at once. */
export function messageLines({ message }: LogRecord): string[] {
  return message.split(/\r?\n/);
}

/** Finds a traceback that is the message, as older kits log it, or within it, as the SDK does. */
function split(message: string, stack: string | undefined): Pick<LogRecord, 'message' | 'traceback'> {
  if (stack !== undefined) return { message: message.trimEnd() || errorOf(stack), traceback: stack.trimEnd() };
  const report = message.startsWith('{') && message.includes('"error_traceback"') ? parseObject(message) : null;
  const { error_message: told, error_traceback: traceback } = report ?? {};
  if (isStack(traceback)) {
    const text = typeof told === 'string' && told.trim() !== '' ? told.trim() : errorOf(traceback);
    return { message: text, traceback: traceback.trimEnd() };
  }
  if (PYTHON_TRACEBACK.test(message) || STACK_LINE.test(message)) {
    return { message: errorOf(message), traceback: message.trimEnd() };
  }
  return { message: message.trimEnd(), traceback: null };
}

/** Returns the line of a traceback that names the error: Python's last one, JavaScript's first. */
function errorOf(traceback: string): string {
  const lines = traceback.trimEnd().split(/\r?\n/);
  return (PYTHON_TRACEBACK.test(traceback) ? lines.at(-1) : lines[0])!.trim();
}

function stackIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return STACKS.map((name) => (value as Members)[name]).find(isStack);
}

function isStack(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

/** Returns what an error has besides its stack and what that says; undefined for nothing. */
function restOf(error: Members): Members | undefined {
  const rest = Object.entries(error).filter(([name]) => !STACKS.includes(name) && !TOLD_BY_STACK.includes(name));
  return rest.length > 0 ? Object.fromEntries(rest) : undefined;
}

/** Returns a member as `name=value`, in one line; null for one that is nested too deep: V8 reads what it cannot print. */
function textOf(name: string, value: unknown): string | null {
  if (value === undefined) return '';
  const left = PLAIN_NAME.test(name) ? name : JSON.stringify(name);
  if (typeof value === 'string' && PLAIN_VALUE.test(value)) return `${left}=${value}`;
  try {
    return `${left}=${JSON.stringify(value)}`;
  } catch {
    return null;
  }
}

function parseObject(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : null;
  } catch {
    return null; // it only looked like JSON
  }
}
