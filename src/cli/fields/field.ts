/**
 * Fields of requests, each stated once: a table per resource has, for each field of its type in the API's description, the options of
 * the command line that set it, with their help, units and defaults. `create` and `update` get their options and bodies from it. A
 * field of the description that a table lacks is an error of the compiler, unless the table says `NO_OPTION`.
 */
import { type Command, Option } from 'commander';
import { wholeNumber } from '../shared/options.ts';

/** A create shows the server's defaults, and an update leaves alone what is not given. */
export type Purpose = 'create' | 'update';

/** How a field is given. `read` returns undefined where it is not. */
export interface Field<T> {
  options(purpose: Purpose): Option[];
  read(given: Given): T | undefined;
}

/** One field or more for every member of a body. */
export type FieldsOf<Body> = { readonly [Name in keyof Body]-?: Field<Exclude<Body[Name], undefined>> };

/** The values of a command's options, by their names. */
type Given = Readonly<Record<string, unknown>>;

interface Help {
  /** The server's default, as a create shows it. */
  byDefault?: string;
  /** Replaces the help in an update. */
  inUpdate?: string;
}

/** The type of an option by its flags: a list, text, or true. */
type Value<Flags extends string> = Flags extends `${string}...>`
  ? string[]
  : Flags extends `${string}>`
    ? string
    : true;

function option(flags: string, help: string, { byDefault, inUpdate = help }: Help, purpose: Purpose): Option {
  const shown = byDefault === undefined ? '' : ` (default: ${byDefault})`;
  return new Option(flags, purpose === 'create' ? `${help}${shown}` : inUpdate);
}

/** A field that an option sets as it is given. */
export function flag<const Flags extends string>(flags: Flags, help: string, more: Help = {}): Field<Value<Flags>> {
  const name = new Option(flags).attributeName();
  return {
    options: (purpose) => [option(flags, help, more, purpose)],
    read: (given) => given[name] as Value<Flags> | undefined,
  };
}

export function numberFlag(
  flags: string,
  help: string,
  { parse = wholeNumber, ...more }: Help & { parse?: (text: string) => number } = {},
): Field<number> {
  const name = new Option(flags).attributeName();
  return {
    options: (purpose) => [option(flags, help, more, purpose).argParser(parse)],
    read: (given) => given[name] as number | undefined,
  };
}

export function choice<T extends string>(
  flags: string,
  help: string,
  choices: readonly T[],
  more: Help = {},
): Field<T> {
  const name = new Option(flags).attributeName();
  return {
    options: (purpose) => [option(flags, help, more, purpose).choices(choices)],
    read: (given) => given[name] as T | undefined,
  };
}

/** A field that is set with `--name`, and in an update taken back with `--no-name`. */
export function yesNo(flags: `--${string}`, help: string, noHelp: string, more: Help = {}): Field<boolean> {
  const name = new Option(flags).attributeName();
  const no = new Option(flags.replace('--', '--no-'), noHelp);
  return {
    options: (purpose) => [option(flags, help, more, purpose), ...(purpose === 'update' ? [no] : [])],
    read: (given) => given[name] as boolean | undefined,
  };
}

/** A field that several options set together. `read` gets their values by name. */
export function together<T, Values extends object>(
  parts: readonly Pick<Field<unknown>, 'options'>[],
  read: (given: Values) => T | undefined,
): Field<T> {
  return {
    options: (purpose) => parts.flatMap((part) => part.options(purpose)),
    read: (given) => read(given as Values),
  };
}

/** The name: in a create an argument as well, which `addName` adds. */
export const NAME: Field<string> = {
  options: (purpose) => (purpose === 'create' ? [] : [new Option('--name <text>', 'new name')]),
  read: (given) => given.name as string | undefined,
};

/** A field of the API that the command line does not set. */
export const NO_OPTION: Field<never> = { options: () => [], read: () => undefined };

/** Makes the options of a field required. */
export function required<T>(field: Field<T>): Field<T> {
  return { ...field, options: (purpose) => field.options(purpose).map((one) => one.makeOptionMandatory()) };
}

/** Sets a field to a value of the command line's own unless another is given. */
export function preset<T>(field: Field<T>, value: T): Field<T> {
  return { ...field, options: (purpose) => field.options(purpose).map((one) => one.default(value)) };
}

export function addFields<Body>(command: Command, fields: FieldsOf<Body>, purpose: Purpose): Command {
  for (const field of Object.values<Field<unknown>>(fields)) {
    for (const one of field.options(purpose)) command.addOption(one);
  }
  return command;
}

/** Returns the fields that were given. The server refuses a body that lacks a required one, and says which. */
export function bodyOf<Body>(fields: FieldsOf<Body>, given: object): Body {
  const entries = Object.entries<Field<unknown>>(fields).map(([name, field]) => [name, field.read(given as Given)]);
  return present(Object.fromEntries(entries)) as Body;
}

/** Returns the object without undefined members; undefined if it has no others. */
export function someOf<T extends object>(members: T): Defined<T> | undefined {
  const given = present(members);
  return Object.keys(given).length > 0 ? given : undefined;
}

/** Drops undefined members. */
export function present<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Members that may be undefined may be absent instead. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
