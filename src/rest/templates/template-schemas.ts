import type { Static } from 'typebox';
import { commandMembers } from '../shared/command.ts';
import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import { byDefault, CUDA_PATTERN, closed, MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const name = Type.String({ minLength: 1, description: 'Unique among your templates.' });
const persistent = closed(
  {
    size: Type.Integer({ minimum: 10, maximum: MAX_INTEGER, description: 'Size in GB.' }),
    path: Type.String({ pattern: '^/', description: 'Mount path in the container.' }),
  },
  { description: 'Storage that survives restarts of the container.' },
);
const mounts = closed(
  { persistent: Type.Optional(persistent) },
  { description: 'Replaced as a whole. Not allowed for a serverless template.' },
);
/** Templates created through GraphQL may be smaller: its minimum is 1 GB. */
const shownMounts = Type.Object(
  {
    persistent: Type.Optional(
      Type.Object({ size: Type.Integer({ minimum: 1, description: 'GB.' }), path: persistent.properties.path }),
    ),
  },
  { description: 'Storage that survives restarts; none for a serverless template.' },
);
const serverless = Type.Boolean({ description: 'True: for endpoints; false: for pods.' });
const isPublic = Type.Boolean({ description: 'Other users may read and use it, but not change or delete it.' });
const category = stringEnum(['CPU', 'NVIDIA', 'AMD']);

const startSsh = Type.Boolean({
  description: 'Pods made from it get the account’s SSH keys as `PUBLIC_KEY`, unless the request says otherwise.',
});
const startJupyter = Type.Boolean({
  description: 'Pods made from it get a password for Jupyter as `JUPYTER_PASSWORD`, unless the request says otherwise.',
});
const allowedCudaVersions = Type.Array(Type.String({ pattern: CUDA_PATTERN }), {
  description: 'CUDA versions that what is made from it may run on, unless the request sets its own rule; empty: any.',
});

/** Defaults of a create besides the container's, as shown in the description. */
export const TEMPLATE_DEFAULTS = { serverless: false, public: false, category: 'NVIDIA' } as const;
const D = TEMPLATE_DEFAULTS;

/** `start`: the defaults of `startSsh` and `startJupyter`, where there are any; `hasCommand`: beside `args`. */
export function createTemplateRequest(start: { default?: boolean }, hasCommand: boolean) {
  return closed(
    {
      name,
      image: CONTAINER.image,
      ...OPTIONAL_CONTAINER_WITH_DEFAULTS,
      ...commandMembers(hasCommand),
      mounts: Type.Optional(byDefault(mounts, {})),
      serverless: Type.Optional(byDefault(serverless, D.serverless)),
      public: Type.Optional(byDefault(isPublic, D.public)),
      category: Type.Optional(byDefault(category, D.category)),
      startSsh: Type.Optional({ ...startSsh, ...start }),
      startJupyter: Type.Optional({ ...startJupyter, ...start }),
      allowedCudaVersions: Type.Optional(byDefault(allowedCudaVersions, [])),
    },
    { $id: 'CreateTemplateRequest' },
  );
}

export type CreateTemplateRequest = Static<ReturnType<typeof createTemplateRequest>>;

/** No defaults at the top level: they would overwrite omitted fields. */
export const UpdateTemplateRequest = closed(
  {
    name: Type.Optional(name),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER,
    mounts: Type.Optional(mounts),
    serverless: Type.Optional(serverless),
    public: Type.Optional(isPublic),
    category: Type.Optional(category),
    startSsh: Type.Optional(startSsh),
    startJupyter: Type.Optional(startJupyter),
    allowedCudaVersions: Type.Optional(allowedCudaVersions),
  },
  { $id: 'UpdateTemplateRequest', description: 'Only the given fields change.' },
);

export const TemplateResponse = Type.Object(
  {
    id: Type.String(),
    name,
    ...CONTAINER,
    mounts: shownMounts,
    serverless,
    public: isPublic,
    category,
    startSsh,
    startJupyter,
    allowedCudaVersions: Type.Array(Type.String()),
  },
  {
    $id: 'Template',
    description: 'Settings for new pods or endpoints. They copy it: later changes do not affect them.',
  },
);

export const TemplateList = Type.Object(
  { templates: Type.Array(ref(TemplateResponse)) },
  { $id: 'TemplateList', description: 'The templates of the account, oldest first.' },
);

export const TemplateParams = Type.Object({ id: Type.String({ description: 'Template identifier.' }) });
