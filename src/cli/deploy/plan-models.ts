/** Plans a deploy's changes to the models of an endpoint. Pure: from what they stand for now and what the endpoint has. */
import { isDeepStrictEqual } from 'node:util';
import { bytesText } from '../../core/text/bytes-text.ts';
import { counted } from '../../core/text/counted.ts';
import { type EndpointModel, type ModelRequest, type ResolvedModel, shortCommit } from '../models/endpoint-models.ts';
import type { Plan } from './plan-deploy.ts';

/** A plan with models. Null: they stay as they are. */
export interface ModelPlan extends Plan {
  models: ModelRequest[] | null;
}

/** Models as podyard.yaml has them, and what they stand for now. */
export interface WantedModels {
  requests: ModelRequest[];
  resolved: readonly ResolvedModel[];
}

/** Adds models to a plan. `wanted` is null where podyard.yaml has none: they stay. */
export function planModels(plan: Plan, wanted: WantedModels | null, now: readonly EndpointModel[]): ModelPlan {
  if (wanted === null || isSame(wanted.resolved, now)) return { ...plan, models: null };
  const { requests, resolved } = wanted;
  const gone = now.filter(({ id }) => !resolved.some((one) => one.id === id));
  const kept = now.filter(({ id }) => resolved.some((one) => one.id === id));
  const lines = [
    ...gone.filter(({ name }) => !resolved.some((one) => one.name === name)).map((one) => `- models  ${textOf(one)}`),
    ...resolved
      .filter(({ id }) => !kept.some((one) => one.id === id))
      .map((one) => {
        const before = gone.find(({ name }) => name === one.name);
        return before ? `~ models  ${textOf(before)} → ${textOf(one)}` : `+ models  ${textOf(one)}`;
      }),
  ];
  const shown = lines.length > 0 ? lines : ['~ models  other revisions, tokens or order of the same files'];
  return {
    ...plan,
    action: plan.action === 'nothing' ? 'change' : plan.action,
    lines: [...plan.lines, ...shown],
    models: requests,
  };
}

type Shown = Pick<EndpointModel, 'name' | 'commit' | 'files' | 'bytes'>;

function textOf({ name, commit, files, bytes }: Shown): string {
  return `${name}@${shortCommit(commit)} (${counted(files, 'file')}, ${bytesText(bytes)})`;
}

function isSame(wanted: readonly ResolvedModel[], now: readonly EndpointModel[]): boolean {
  const keyOf = ({ id, revision, tokenSecret, include, exclude }: ResolvedModel | EndpointModel) => ({
    ...{ id, revision, tokenSecret, include, exclude },
  });
  return isDeepStrictEqual(wanted.map(keyOf), now.map(keyOf));
}
