import { parseInteger, parseOneOf } from './parse-setting.ts';

/** Where a value of the Helm chart becomes a setting (deploy/helm/podyard/templates/_settings.tpl). */
interface ChartValue {
  /** Its path in values.yaml. */
  value: string;
  /** How its text is made. `pairs`: a map; `list`: joined by commas; `template`: as the template says by hand. */
  as: 'text' | 'integer' | 'switch' | 'pairs' | 'list' | 'template';
}

/** A setting as operators see it, and where its text comes from. `F`: its flag. */
export interface SettingInfo<F extends string> {
  /** Environment variable. An empty one counts as unset. */
  variable: string;
  /** A general variable that is read if the first is unset. */
  fallbackVariable?: string;
  /** Counts an empty variable as given, where empty text means none. */
  isEmptyGiven?: boolean;
  /** In camel case, as the parser of the command line names it: `dataDir` is `--data-dir`. It wins over the variable. */
  flag?: F;
  /** The placeholder of the flag's value, such as `<path>`; absent: a switch. */
  takes?: string;
  /** Its row in docs/configuration.md. */
  page: string;
  /** Its line in `--help`; absent: `page` without a capital letter. */
  help?: string;
  /** The default as operators read it; absent: as they would write it. */
  shownDefault?: string;
  chart?: ChartValue;
}

/** One setting of the server: everything about it but what uses it. */
export interface Setting<T, F extends string = string> extends SettingInfo<F> {
  shownDefault: string;
  /** The value that a flag without one, or the variable, changes the setting to; absent: the flag takes a value. */
  switchesTo?: boolean;
  /** Parses what was given; undefined: returns the default. Throws a sentence with `name`, the text and what is allowed. */
  parse: (name: string, given: string | undefined) => T;
}

/** Settings by the name of their value; a table may hold tables. */
export type SettingTable = { readonly [name: string]: Setting<unknown> | SettingTable };

/** The values of a table of settings. */
export type ValuesOf<Table> = {
  -readonly [K in keyof Table]: Table[K] extends Setting<infer T> ? T : ValuesOf<Table[K]>;
};

/** Reads every setting of a table. Throws the sentence of the first that is wrong. */
export function readSettings<Table extends SettingTable>(
  table: Table,
  flags: object,
  env: NodeJS.ProcessEnv,
): ValuesOf<Table> {
  const entries = Object.entries(table).map(([name, entry]) => [
    name,
    isSetting(entry) ? entry.parse(nameOf(entry), givenText(entry, flags, env)) : readSettings(entry, flags, env),
  ]);
  return Object.fromEntries(entries) as ValuesOf<Table>;
}

/** Returns the settings of a table and of the tables in it, in their order. */
export function listSettings(table: SettingTable): Setting<unknown>[] {
  return Object.values(table).flatMap((entry) => (isSetting(entry) ? [entry] : listSettings(entry)));
}

/** Returns `--data-dir`, or `--no-…` for what is switched off; null for a setting without a flag. */
export function longFlag({ flag, switchesTo }: Setting<unknown>): string | null {
  if (flag === undefined) return null;
  const words = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return switchesTo === false ? `--no-${words}` : `--${words}`;
}

/** Returns the line about a setting in `--help`. */
export function helpOf({ help, page, takes, shownDefault }: Setting<unknown>): string {
  const text = help ?? page.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
  return takes === undefined || shownDefault === 'none' ? text : `${text} (default: ${shownDefault})`;
}

function isSetting(entry: Setting<unknown> | SettingTable): entry is Setting<unknown> {
  return typeof entry.parse === 'function';
}

function nameOf(setting: Setting<unknown>): string {
  return longFlag(setting) ?? setting.variable;
}

function givenText(setting: Setting<unknown>, flags: object, env: NodeJS.ProcessEnv): string | undefined {
  const { flag = '', variable, fallbackVariable = variable, switchesTo, isEmptyGiven } = setting;
  const given = (flags as Record<string, unknown>)[flag];
  // The parser of the command line has `true` for a `--no-…` that is absent.
  if (given !== undefined && (switchesTo === undefined || given === switchesTo)) return String(given);
  return [env[variable], env[fallbackVariable]].find((text) => text !== undefined && (text !== '' || isEmptyGiven));
}

/** A setting with a default, written as an operator would. */
export function setting<T, F extends string = never>(
  info: SettingInfo<F> & { default: string; parse: (name: string, text: string) => T },
): Setting<T, F> {
  const { default: standard, parse, ...rest } = info;
  return {
    shownDefault: standard,
    ...rest,
    parse: (name, given) => parse(name, given ?? standard),
  };
}

/** A setting that is null unless it is given. */
export function optional<T, F extends string = never>(
  info: SettingInfo<F> & { shownDefault: string; parse: (name: string, text: string) => T },
): Setting<T | null, F> {
  const { parse } = info;
  return { ...info, parse: (name, given) => (given === undefined ? null : parse(name, given)) };
}

/** Any text. */
export function asGiven(_name: string, text: string): string {
  return text;
}

/** A whole number; an empty flag gives the default. */
export function integer<F extends string = never>(
  info: SettingInfo<F> & { default: number; min: number; max: number },
): Setting<number, F> {
  const { default: fallback, min, max, ...rest } = info;
  return {
    shownDefault: String(fallback),
    ...rest,
    parse: (name, given) => parseInteger(name, given, { min, max, fallback }),
  };
}

/** Whole seconds, at most a week unless `max` says otherwise. Reads as milliseconds. */
export function seconds<F extends string = never>(
  info: SettingInfo<F> & { default: number; max?: number },
): Setting<number, F> {
  const whole = integer({ min: 0, max: 7 * 86_400, ...info });
  return { ...whole, parse: (name, given) => whole.parse(name, given) * 1000 };
}

export function oneOf<const T extends string, F extends string = never>(
  info: SettingInfo<F> & { default: T; values: readonly T[] },
): Setting<T, F> {
  const { values, ...rest } = info;
  return setting({ ...rest, parse: (name, text) => parseOneOf(name, text, values) });
}

/** On or off: the variable changes the default with `true` or `false`; other texts change nothing. */
export function onOff<F extends string = never>(info: SettingInfo<F> & { default: boolean }): Setting<boolean, F> {
  const { default: standard, ...rest } = info;
  return {
    ...rest,
    shownDefault: info.flag === undefined ? String(standard) : standard ? 'on' : 'off',
    switchesTo: !standard,
    parse: (_name, given) => (given === String(!standard) ? !standard : standard),
  };
}
