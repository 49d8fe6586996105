import type { ModelUse } from './pinned-model.ts';

/** Returns a model as a release's diff shows it: `ORG/NAME@commit`, and in brackets how it was asked for. */
export function modelText({ name, commit, revision, include, exclude, tokenSecret }: ModelUse): string {
  const more = [
    ...(revision === null || revision === commit ? [] : [`revision ${revision}`]),
    ...(include ? [`only ${include.join(' ')}`] : []),
    ...(exclude ? [`without ${exclude.join(' ')}`] : []),
    ...(tokenSecret === null ? [] : [`token in secret ${tokenSecret}`]),
  ];
  return `${name}@${commit}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

type Asked = Pick<ModelUse, 'source' | 'name' | 'revision' | 'commit'>;

/** Returns the model's source as requests name it: what `parseModelReference` reads. */
export function sourceOf(use: Asked): string {
  return use.source === 'HUB' ? `hf:${use.name}@${use.revision ?? DEFAULT_REVISION}` : referenceOf(use);
}

/** Returns a source that stands for these bytes for good, whatever its branch or tag is later. */
export function pinnedSourceOf(use: Asked): string {
  return use.source === 'HUB' ? `hf:${use.name}@${use.commit}` : referenceOf({ ...use, revision: null });
}

/** Returns the model's source as `modelReferences` name it. */
export function referenceOf({ source, name, revision, commit }: Asked): string {
  if (source === 'OCI') return revision === null ? `${name}@${commit}` : `${name}:${revision}`;
  if (source !== 'HUB') return `${name}#${commit.replace(':', '=')}`;
  return revision === null || revision === DEFAULT_REVISION ? name : `${name}:${revision}`;
}

/** The branch that a hub's reference means where it names none. */
export const DEFAULT_REVISION = 'main';

/** Returns why a model cannot be fetched whose secret was deleted. */
export function missingTokenText(secret: string): string {
  return `there is no secret '${secret}', which is to hold its token`;
}
