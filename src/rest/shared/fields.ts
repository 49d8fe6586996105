import type { Static, TProperties, TSchema } from 'typebox';
import { byDefault, closed } from './schema.ts';
import { Type } from './type.ts';

/**
 * How an interface spells one member of a record: under which names, with which schemas, and how values are mapped. A member may be
 * spread over several names. What is left out, the interface does not have.
 */
interface Field<T, Given> {
  /** Its part of a create, of an update and of an answer. */
  readonly create?: TProperties;
  readonly update?: TProperties;
  readonly answer?: TProperties;
  /** Returns the value of a new record; undefined: the domain fills it in. */
  readonly toNew?: (body: never) => T | Given | undefined;
  /** Returns what an update gives; undefined: nothing. */
  readonly toChange?: (body: never) => Given | undefined;
  /** Returns its part of an answer. */
  readonly toAnswer?: (value: T, record: never) => object;
}

/**
 * How an interface spells every member of a record. Checked with `satisfies`, so that a new member is a compiler error in each interface
 * until it has a line there. `Given` has the types of members that an update may give in part.
 */
export type FieldMap<R, Given = R> = {
  readonly [K in keyof R]-?: Field<R[K], K extends keyof Given ? NonNullable<Given[K]> | R[K] : R[K]>;
};

/** A member that the interface does not have. */
export const HIDDEN = {};

/** A member with a name of its own, and with a default that is filled in here. */
export function field<N extends string, S extends TSchema>(name: N, schema: S, initial: Static<S>) {
  return {
    ...optional(name, schema, initial),
    toNew: (body: { readonly [K in N]?: Static<S> }) => body[name] ?? initial,
  };
}

/** A member that every create has to give. */
export function required<N extends string, S extends TSchema>(name: N, schema: S) {
  return {
    ...optional(name, schema),
    create: member(name, schema),
    toNew: (body: { readonly [K in N]: Static<S> }) => body[name],
  };
}

/** A member that the domain fills in, with `initial` unless it has something better, such as a template. */
export function optional<N extends string, S extends TSchema>(name: N, schema: S, initial?: Static<S>) {
  const read = (body: { readonly [K in N]?: Static<S> }) => body[name];
  return {
    create: member(name, Type.Optional(initial === undefined ? schema : byDefault(schema, initial))),
    update: member(name, Type.Optional(schema)),
    answer: member(name, schema),
    toNew: read,
    toChange: read,
    toAnswer: (value: Static<S>) => member(name, value),
  };
}

/** A member with a default that no update can give. */
export function fixed<N extends string, S extends TSchema>(name: N, schema: S, initial: Static<S>) {
  const { create, toNew, answer, toAnswer } = field(name, schema, initial);
  return { create, toNew, answer, toAnswer };
}

/** A member that is an object of members with defaults. An update gives some of them. */
export function group<N extends string, M extends Fields>(name: N, fields: M) {
  return {
    create: member(name, Type.Optional(closed(membersOf(fields, 'create')))),
    update: member(name, Type.Optional(closed(membersOf(fields, 'update')))),
    answer: member(name, Type.Object(membersOf(fields, 'answer'))),
    toNew: (body: { readonly [K in N]?: BodyOf<M, 'toNew'> }) =>
      newOf(fields, body[name] ?? ({} as BodyOf<M, 'toNew'>)),
    toChange: (body: { readonly [K in N]?: BodyOf<M, 'toChange'> }) => body[name] && changeOf(fields, body[name]),
    toAnswer: (value: { readonly [K in keyof M]: unknown }) => member(name, answerOf(fields, value)),
  };
}

/** A member that is only shown. */
export function shown<N extends string, S extends TSchema>(name: N, schema: S) {
  return { answer: member(name, schema), toAnswer: (value: Static<S>) => member(name, value) };
}

function member<N extends string, T>(name: N, value: T): { [K in N]: T } {
  return { [name]: value } as { [K in N]: T };
}

type Part = 'create' | 'update' | 'answer';
interface AnyField {
  readonly create?: TProperties;
  readonly update?: TProperties;
  readonly answer?: TProperties;
  readonly toNew?: (body: never) => unknown;
  readonly toChange?: (body: never) => unknown;
  readonly toAnswer?: (value: never, record: never) => object;
}
type Fields = Readonly<Record<string, AnyField>>;

/** The intersection of a union. */
type All<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void
  ? { [K in keyof I]: I[K] }
  : never;
type Members<M extends Fields, P extends Part> = Properties<
  All<{ [K in keyof M]: M[K] extends { readonly [Q in P]: infer S } ? S : never }[keyof M]>
>;
type Properties<T> = T extends TProperties ? T : never;
type Mapped<M extends Fields, F extends 'toNew' | 'toChange'> = {
  [K in keyof M as M[K] extends { readonly [Q in F]: (body: never) => infer T }
    ? undefined extends T
      ? never
      : K
    : never]: M[K] extends { readonly [Q in F]: (body: never) => infer T } ? T : never;
} & {
  [K in keyof M as M[K] extends { readonly [Q in F]: (body: never) => infer T }
    ? undefined extends T
      ? K
      : never
    : never]?: M[K] extends { readonly [Q in F]: (body: never) => infer T } ? Exclude<T, undefined> : never;
};
/** A body that has what all these functions read. */
type BodyOf<M extends Fields, F extends 'toNew' | 'toChange'> = All<
  { [K in keyof M]: M[K] extends { readonly [Q in F]: (body: infer B) => unknown } ? B : never }[keyof M]
>;
type Answer<M extends Fields> = All<
  {
    [K in keyof M]: M[K] extends { readonly toAnswer: (value: never, record: never) => infer O } ? O : never;
  }[keyof M]
>;

/** Returns the properties of a schema, in the order of the map; those in `first` come first. */
export function membersOf<M extends Fields, P extends Part>(
  fields: M,
  part: P,
  first: readonly string[] = [],
): Members<M, P> {
  const all: TProperties = Object.assign({}, ...Object.values(fields).map((field) => field[part]));
  return { ...Object.fromEntries(first.map((name) => [name, all[name]!])), ...all } as Members<M, P>;
}

/** Maps a create. Members that the domain fills in are absent. */
export function newOf<M extends Fields>(fields: M, body: BodyOf<M, 'toNew'>): Mapped<M, 'toNew'> {
  return mapped(fields, ({ toNew }) => toNew?.(body as never)) as Mapped<M, 'toNew'>;
}

/** Maps the members that an update gives: absent and null differ. */
export function changeOf<M extends Fields>(fields: M, body: BodyOf<M, 'toChange'>): Mapped<M, 'toChange'> {
  return mapped(fields, ({ toChange }) => toChange?.(body as never)) as Mapped<M, 'toChange'>;
}

function mapped(fields: Fields, map: (field: AnyField) => unknown): object {
  const values = Object.entries(fields).map(([name, field]) => [name, map(field)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** Returns the answer that shows a record. */
export function answerOf<M extends Fields>(fields: M, record: { readonly [K in keyof M]: unknown }): Answer<M> {
  const answer = {};
  for (const [name, field] of Object.entries(fields)) {
    Object.assign(answer, field.toAnswer?.(record[name] as never, record as never));
  }
  return answer as Answer<M>;
}
