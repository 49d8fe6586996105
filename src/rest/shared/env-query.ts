import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import { Type } from './type.ts';

type Env = Readonly<Record<string, string>>;

/** The query of an update of container settings: how its `env` is applied. */
export const EnvQuery = Type.Object({
  mergeEnv: Type.Optional(
    Type.Boolean({
      description:
        'Podyard only: adds `env` to the present variables, name by name, instead of replacing all of them. With `templateId`, it is always added, to those of the template.',
    }),
  ),
  unsetEnv: Type.Optional(
    Type.String({
      description:
        'Podyard only: names of variables to remove, separated by commas. Implies `mergeEnv`. Not together with `templateId`.',
    }),
  ),
});

interface EnvChange {
  env?: Env;
  templateId?: string;
  template?: unknown;
}

/**
 * Returns the change with the `env` that the query asks for. `before` is the record as the update's transaction locked it,
 * so that no concurrent change is lost. Throws `badRequest` for `unsetEnv` together with a template.
 */
export function editEnv<C extends EnvChange>(
  change: C,
  before: { env: Env },
  { mergeEnv = false, unsetEnv }: Static<typeof EnvQuery>,
): C {
  const unset = (unsetEnv ?? '').split(',').filter((name) => name !== '');
  const hasTemplate = change.templateId !== undefined || change.template !== undefined;
  if (unset.length > 0 && hasTemplate) {
    throw new Failure('badRequest', 'unsetEnv: not together with templateId, whose variables replace the present ones');
  }
  const isMerged = unset.length > 0 || (mergeEnv && change.env !== undefined);
  if (!isMerged || hasTemplate) return change;
  const env = new Map(Object.entries({ ...before.env, ...change.env }));
  for (const name of unset) env.delete(name);
  return { ...change, env: Object.fromEntries(env) };
}
