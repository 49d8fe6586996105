import { Type } from 'typebox';
import { CONTAINER, OPTIONAL_CONTAINER, OPTIONAL_CONTAINER_WITH_DEFAULTS } from '../shared/container-schemas.ts';
import { byDefault, closed, MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';

const name = Type.String({ minLength: 1, description: 'Unique among one’s own templates.' });
const persistent = closed(
  {
    size: Type.Integer({ minimum: 10, maximum: MAX_INTEGER, description: 'GB.' }),
    path: Type.String({ pattern: '^/', description: 'Where the container finds it.' }),
  },
  { description: 'Storage beside the container that outlives its restarts.' },
);
const mounts = closed(
  { persistent: Type.Optional(persistent) },
  { description: 'Replaced as a whole. A serverless template has none.' },
);
/** What came by GraphQL may be smaller: its interface asks for no least size. */
const shownMounts = Type.Object(
  {
    persistent: Type.Optional(
      Type.Object({ size: Type.Integer({ minimum: 1, description: 'GB.' }), path: persistent.properties.path }),
    ),
  },
  { description: 'Storage beside the container; none for a serverless template.' },
);
const serverless = Type.Boolean({ description: 'For endpoints; otherwise for pods.' });
const isPublic = Type.Boolean({ description: 'Others may use it, but neither list, nor change, nor delete it.' });
const category = stringEnum(['CPU', 'NVIDIA', 'AMD']);

/** What a create fills in beside the container's defaults. The description shows the same values. */
export const TEMPLATE_DEFAULTS = { serverless: false, public: false, category: 'NVIDIA' } as const;
const D = TEMPLATE_DEFAULTS;

export const CreateTemplateRequest = closed(
  {
    name,
    image: CONTAINER.image,
    ...OPTIONAL_CONTAINER_WITH_DEFAULTS,
    mounts: Type.Optional(byDefault(mounts, {})),
    serverless: Type.Optional(byDefault(serverless, D.serverless)),
    public: Type.Optional(byDefault(isPublic, D.public)),
    category: Type.Optional(byDefault(category, D.category)),
  },
  { $id: 'CreateTemplateRequest' },
);

/** No defaults at its top level: they would change what the client left out. */
export const UpdateTemplateRequest = closed(
  {
    name: Type.Optional(name),
    image: Type.Optional(CONTAINER.image),
    ...OPTIONAL_CONTAINER,
    mounts: Type.Optional(mounts),
    serverless: Type.Optional(serverless),
    public: Type.Optional(isPublic),
    category: Type.Optional(category),
  },
  { $id: 'UpdateTemplateRequest', description: 'Only the fields that are present change.' },
);

export const TemplateResponse = Type.Object(
  { id: Type.String(), name, ...CONTAINER, mounts: shownMounts, serverless, public: isPublic, category },
  { $id: 'Template', description: 'Settings to make pods or endpoints from. They copy it, and do not follow it.' },
);

export const TemplateList = Type.Object(
  { templates: Type.Array(ref(TemplateResponse)) },
  { $id: 'TemplateList', description: 'The account’s own templates, oldest first.' },
);

export const TemplateParams = Type.Object({ id: Type.String({ description: 'Template identifier.' }) });
