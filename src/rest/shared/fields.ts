import type { Static, TProperties, TSchema } from 'typebox';
import { type All, type AnyField, answerOf, type BodyOf, changeOf, newOf } from '../../http/fields.ts';
import { byDefault, closed } from './schema.ts';
import { Type } from './type.ts';

/** A field (http/fields.ts) that also has the schemas of its part of a create, of an update and of an answer. */
interface SchemaField extends AnyField {
  readonly create?: TProperties;
  readonly update?: TProperties;
  readonly answer?: TProperties;
}
type SchemaFields = Readonly<Record<string, SchemaField>>;
type Part = 'create' | 'update' | 'answer';
type Properties<T> = T extends TProperties ? T : never;
type Members<M extends SchemaFields, P extends Part> = Properties<
  All<{ [K in keyof M]: M[K] extends { readonly [Q in P]: infer S } ? S : never }[keyof M]>
>;

/** Returns the properties of a schema, in the order of the map; those in `first` come first. */
export function membersOf<M extends SchemaFields, P extends Part>(
  fields: M,
  part: P,
  first: readonly string[] = [],
): Members<M, P> {
  const all: TProperties = Object.assign({}, ...Object.values(fields).map((one) => one[part]));
  return { ...Object.fromEntries(first.map((name) => [name, all[name]!])), ...all } as Members<M, P>;
}

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
    ...shownAs<N, Static<S>>(name),
  };
}

/** A member with a default that no update can give. */
export function fixed<N extends string, S extends TSchema>(name: N, schema: S, initial: Static<S>) {
  const { update: _, toChange: __, ...rest } = field(name, schema, initial);
  return rest;
}

/** A member that is an object of members with defaults. An update gives some of them. */
export function group<N extends string, M extends SchemaFields>(name: N, fields: M) {
  const none = {} as BodyOf<M, 'toNew'>;
  return {
    create: member(name, Type.Optional(closed(membersOf(fields, 'create')))),
    update: member(name, Type.Optional(closed(membersOf(fields, 'update')))),
    answer: member(name, Type.Object(membersOf(fields, 'answer'))),
    toNew: (body: { readonly [K in N]?: BodyOf<M, 'toNew'> }) => newOf(fields, body[name] ?? none),
    toChange: (body: { readonly [K in N]?: BodyOf<M, 'toChange'> }) => body[name] && changeOf(fields, body[name]),
    ...shownAs(name, (value: { readonly [K in keyof M]: unknown }) => answerOf(fields, value)),
  };
}

/** A member that is only shown. */
export function shown<N extends string, S extends TSchema>(name: N, schema: S) {
  return { answer: member(name, schema), ...shownAs<N, Static<S>>(name) };
}

/** How an answer shows a member under one name: its value, or what `show` makes of it. */
export function shownAs<N extends string, T, A = T, R = unknown>(as: N, show?: (value: T, record: R) => A) {
  const toAnswer = (value: T, record: R): { [K in N]: A } => member(as, (show ? show(value, record) : value) as A);
  return { toAnswer: Object.assign(toAnswer, { as, show }) };
}

function member<N extends string, T>(name: N, value: T): { [K in N]: T } {
  return { [name]: value } as { [K in N]: T };
}
