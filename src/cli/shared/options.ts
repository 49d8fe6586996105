import { type Command, InvalidArgumentError } from 'commander';
import { helpOf, listSettings, longFlag, type SettingTable } from '../../config/setting.ts';
import { DATABASE_SETTINGS } from '../../config/settings.ts';
import { UsageError } from '../../core/usage-error.ts';

/** Adds what names an installation's data. */
export function addDatabaseOptions(command: Command): Command {
  return addSettings(command, DATABASE_SETTINGS);
}

/** Adds the settings of a table that have a flag. */
export function addSettings(command: Command, table: SettingTable): Command {
  for (const setting of listSettings(table)) {
    const flag = longFlag(setting);
    if (flag !== null) command.option(setting.takes ? `${flag} ${setting.takes}` : flag, helpOf(setting));
  }
  return command;
}

/** Adds the name of what a command creates: an argument, or `--name`. The same for every `create`. */
export function addName(command: Command, other = 'the same as the argument'): Command {
  return command.usage('<name> [options]').argument('[name]', 'its name').option('--name <text>', other);
}

/** Returns the name that was given. Throws a `UsageError` if there is none, or if there are two. */
export function requireName(argument: string | undefined, option: string | undefined, command: string): string {
  const name = findName(argument, option);
  if (name !== undefined) return name;
  throw new UsageError(`the name is missing: put it first, as in \`podyard ${command} my-name …\``);
}

/** Returns the name that was given, if any. Throws a `UsageError` if there are two. */
export function findName(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument === undefined || option === undefined || argument === option) return argument ?? option;
  throw new UsageError(`the name is both '${argument}' and, by --name, '${option}': give one`);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function parseCount(text: string): number {
  if (text.length > 6) throw new InvalidArgumentError('It must be a whole number.');
  return wholeNumber(text);
}

export function parsePositive(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('It must be at least 1.');
  return value;
}

export function anyNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

export function parseTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be a time like 2030-01-31T12:00:00Z.');
  return time;
}

const SPAN = /^(\d{1,6})(s|m|h|d)$/;
const MS_OF_UNIT: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the milliseconds of a span such as `15m`; undefined for any other text. */
export function parseSpan(text: string): number | undefined {
  const [, count, unit] = SPAN.exec(text) ?? [];
  return unit === undefined ? undefined : Number(count) * MS_OF_UNIT[unit]!;
}

/** Returns the RFC 3339 time that `text`, a time or an age, stands for. */
export function toTime(text: string, now: number): string {
  const age = parseSpan(text);
  const time = new Date(age === undefined ? text : now - age);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new UsageError(`'${text}' is neither a time such as 2026-11-20T10:00:00Z nor an age such as 15m`);
}
