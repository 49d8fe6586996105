/**
 * Returns a part of an answer. If that is one member, `as` is its name and `show` makes its value of the record's, so that `answerOf` needs no
 * object for it.
 */
interface ToAnswer<T, R> {
  (value: T, record: R): object;
  readonly as?: string;
  readonly show?: ((value: T, record: R) => unknown) | undefined;
}

/**
 * How an interface spells one member of a record: a member may be spread over several names, and may depend on others. What is left out,
 * the interface does not have.
 */
interface Field<T, Given, Create = never, Update = never, R = never> {
  /** Returns the value of a new record; undefined: the domain fills it in. */
  readonly toNew?: (body: Create) => T | Given | undefined;
  /** Returns what an update gives; undefined: nothing. */
  readonly toChange?: (body: Update, before: R) => Given | undefined;
  /** Returns its part of an answer. */
  readonly toAnswer?: ToAnswer<T, R>;
  /** Schemas of its part of a create, of an update and of an answer, by name: rest/shared/fields.ts makes whole schemas of them. */
  readonly create?: object;
  readonly update?: object;
  readonly answer?: object;
}

/**
 * How an interface spells every member of a record. Checked with `satisfies`, so that a new member is a compiler error in each interface
 * until it has a line there. `Given` has the types of members that an update may give in part.
 */
export type FieldMap<R, Given = R, Create = never, Update = never> = {
  readonly [K in keyof R]-?: Field<
    R[K],
    K extends keyof Given ? Exclude<Given[K], undefined> : R[K],
    Create,
    Update,
    R
  >;
};

/** A member that the interface does not have. */
export const HIDDEN = {};

export interface AnyField {
  readonly toNew?: (body: never) => unknown;
  readonly toChange?: (body: never, before: never) => unknown;
  readonly toAnswer?: ToAnswer<never, never>;
}
export type Fields = Readonly<Record<string, AnyField>>;

type Mapper = 'toNew' | 'toChange';
type Result<F, Q extends Mapper> = F extends { readonly [K in Q]: (body: never, before: never) => infer T }
  ? T
  : undefined;
type Mapped<M, Q extends Mapper> = {
  [K in keyof M as undefined extends Result<M[K], Q> ? never : K]: Result<M[K], Q>;
} & { [K in keyof M as undefined extends Result<M[K], Q> ? K : never]?: Exclude<Result<M[K], Q>, undefined> };

/** The intersection of a union. */
export type All<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void
  ? { [K in keyof I]: I[K] }
  : never;
/** A body that has what all these functions read. */
export type BodyOf<M, Q extends Mapper> = All<
  { [K in keyof M]: M[K] extends { readonly [P in Q]: (body: infer B, before: never) => unknown } ? B : never }[keyof M]
>;
type Answer<M> = All<
  { [K in keyof M]: M[K] extends { readonly toAnswer: (value: never, record: never) => infer O } ? O : never }[keyof M]
>;

/** Maps a create. Members that the domain fills in are absent. */
export function newOf<M extends Fields>(fields: M, body: BodyOf<M, 'toNew'>): Mapped<M, 'toNew'> {
  return mapped(fields, ({ toNew }) => toNew?.(body as never)) as Mapped<M, 'toNew'>;
}

/** Maps the members that an update gives: absent and null differ. */
export function changeOf<M extends Fields>(
  fields: M,
  body: BodyOf<M, 'toChange'>,
  before?: object,
): Mapped<M, 'toChange'> {
  return mapped(fields, ({ toChange }) => toChange?.(body as never, before as never)) as Mapped<M, 'toChange'>;
}

function mapped(fields: Fields, map: (field: AnyField) => unknown): object {
  const values = Object.entries(fields).map(([name, field]) => [name, map(field)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

/** The parts of an answer made from a map. `blank` has all single members already: adding them one by one takes longer. */
interface AnswerPlan {
  readonly blank: object;
  readonly shown: readonly (readonly [name: string, toAnswer: ToAnswer<never, never>])[];
}
const plans = new WeakMap<Fields, AnswerPlan>();

/** Returns the answer that shows a record. */
export function answerOf<M extends Fields>(fields: M, record: { readonly [K in keyof M]: unknown }): Answer<M> {
  const { blank, shown } = planOf(fields);
  const answer: Record<string, unknown> = { ...blank };
  for (const [name, toAnswer] of shown) {
    const value = record[name] as never;
    const { as, show } = toAnswer;
    if (as !== undefined) answer[as] = show ? show(value, record as never) : value;
    else Object.assign(answer, toAnswer(value, record as never));
  }
  return answer as Answer<M>;
}

function planOf(fields: Fields): AnswerPlan {
  const known = plans.get(fields);
  if (known) return known;
  const shown = Object.entries(fields).flatMap(([name, { toAnswer }]) => (toAnswer ? [[name, toAnswer] as const] : []));
  const blank = Object.fromEntries(shown.flatMap(([, { as }]) => (as === undefined ? [] : [[as, undefined]])));
  const plan = { blank, shown };
  plans.set(fields, plan);
  return plan;
}
