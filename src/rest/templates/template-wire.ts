import type { Static, TUnsafe } from 'typebox';
import { CONTAINER_DEFAULTS } from '../../domain/endpoints/endpoint.ts';
import type { NewTemplate } from '../../domain/templates/change-template.ts';
import type { Template } from '../../domain/templates/template.ts';
import { answerOf, changeOf, type FieldMap, HIDDEN, newOf } from '../../http/fields.ts';
import { ARGS_OR_COMMAND, CONTAINER, CONTAINER_FIELDS } from '../shared/container-fields.ts';
import { CONTAINER_EXAMPLE, type NamedSchemas } from '../shared/example-values.ts';
import { field, membersOf, optional, required, shown } from '../shared/fields.ts';
import { byDefault, CUDA_PATTERN, closed, MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';
import { describePodOrTemplate, readPodOrTemplate } from '../shared/terraform.ts';
import { Type } from '../shared/type.ts';
import type { Wire } from '../shared/wire.ts';

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

/** A template whose `startSsh` and `startJupyter` are as a revision shows them where it does not say. */
type ShownTemplate = Template & { startSsh: boolean; startJupyter: boolean };

const FIELDS = {
  id: shown('id', Type.String()),
  userId: HIDDEN,
  mark: HIDDEN,
  clientSettings: HIDDEN,
  endpointId: HIDDEN,
  createdAt: HIDDEN,
  name: required('name', name),
  ...CONTAINER_FIELDS,
  image: required('image', CONTAINER.image),
  args: ARGS_OR_COMMAND,
  persistentMount: {
    create: { mounts: Type.Optional(byDefault(mounts, {})) },
    update: { mounts: Type.Optional(mounts) },
    answer: { mounts: shownMounts },
    toNew: (body: { mounts?: Mounts }) => toMount(body.mounts ?? {}),
    toChange: (body: { mounts?: Mounts }) => body.mounts && toMount(body.mounts),
    toAnswer: (mount: Template['persistentMount']) => ({
      mounts: mount === null ? {} : { persistent: { size: mount.sizeGb, path: mount.path } },
    }),
  },
  isServerless: field('serverless', serverless, false),
  isPublic: field('public', isPublic, false),
  category: field('category', category, 'NVIDIA'),
  startSsh: optional('startSsh', startSsh),
  startJupyter: optional('startJupyter', startJupyter),
  allowedCudaVersions: {
    ...field('allowedCudaVersions', allowedCudaVersions, []),
    answer: { allowedCudaVersions: Type.Array(Type.String()) },
  },
} satisfies FieldMap<ShownTemplate, NewTemplate>;

type Mounts = Static<typeof mounts>;

function toMount({ persistent: mount }: Mounts): Template['persistentMount'] {
  return mount === undefined ? null : { sizeGb: mount.size, path: mount.path };
}

const FIRST = ['name', ...Object.keys(CONTAINER)];
const CREATE = { $id: 'CreateTemplateRequest' };
const CreateRequest07 = closed(membersOf({ ...FIELDS, args: CONTAINER_FIELDS.args }, 'create', FIRST), CREATE);
const CreateRequest08 = closed(
  membersOf(
    {
      ...FIELDS,
      startSsh: optional('startSsh', startSsh, true),
      startJupyter: optional('startJupyter', startJupyter, true),
    },
    'create',
    FIRST,
  ),
  CREATE,
);
type CreateBody = Static<typeof CreateRequest08>;

/** No defaults at the top level: they would overwrite omitted fields. */
export const UpdateTemplateRequest = closed(membersOf(FIELDS, 'update'), {
  $id: 'UpdateTemplateRequest',
  description: 'Only the given fields change.',
});

export const TemplateResponse = Type.Object(membersOf(FIELDS, 'answer'), {
  $id: 'Template',
  description: 'Settings for new pods or endpoints. They copy it: later changes do not affect them.',
});

export const TemplateList = Type.Object(
  { templates: Type.Array(ref(TemplateResponse)) },
  { $id: 'TemplateList', description: 'The templates of the account, oldest first.' },
);

export const TemplateParams = Type.Object({ id: Type.String({ description: 'Template identifier.' }) });

/** How a revision spells templates. */
export interface TemplateWire extends Wire {
  /** A reference to the schema. */
  readonly CreateRequest: TUnsafe<CreateBody>;
  /** `startSsh` and `startJupyter` of a new template that does not mention them; null: what is made from it decides. */
  readonly startByDefault: boolean | null;
  /** Whether pods made from a template that does not mention SSH get the account's keys. */
  readonly sshByDefault: boolean;
}

const settings = {
  ...CONTAINER_EXAMPLE,
  name: 'transcriber-base',
  mounts: {},
  serverless: true,
  public: false,
  category: 'NVIDIA',
  startSsh: true,
  startJupyter: false,
  allowedCudaVersions: ['12.8'],
};
const template = { id: 't8p3l5k1m6n9bv', ...settings };

export const TEMPLATE_SCHEMAS: NamedSchemas = [
  [TemplateResponse, template],
  [TemplateList, { templates: [template] }],
  [UpdateTemplateRequest, { image: 'ghcr.io/example/transcriber:1.5.0' }],
];

const hint = { explain: describePodOrTemplate, read: readPodOrTemplate };
const hints = { CreateTemplateRequest: hint, UpdateTemplateRequest: hint };

export const TEMPLATE_WIRE_2026_07: TemplateWire = {
  schemas: [[CreateRequest07, settings]],
  hints,
  CreateRequest: ref(CreateRequest07),
  startByDefault: null,
  sshByDefault: true,
};

export const TEMPLATE_WIRE_2026_08: TemplateWire = {
  schemas: [[CreateRequest08, settings]],
  hints,
  CreateRequest: ref(CreateRequest08),
  startByDefault: true,
  sshByDefault: false,
};

export function toNewTemplate({ startByDefault }: TemplateWire, body: CreateBody): NewTemplate {
  const start = { startSsh: startByDefault, startJupyter: startByDefault };
  return { ...CONTAINER_DEFAULTS, ...start, ...newOf(FIELDS, body) };
}

/** Maps the fields that are present. */
export function toTemplateChange(body: Static<typeof UpdateTemplateRequest>): Partial<NewTemplate> {
  return changeOf(FIELDS, body);
}

export function toTemplateResponse(
  { sshByDefault }: TemplateWire,
  template: Template,
): Static<typeof TemplateResponse> {
  const { startSsh: ssh, startJupyter: jupyter } = template;
  return answerOf(FIELDS, { ...template, startSsh: ssh ?? sshByDefault, startJupyter: jupyter ?? false });
}
