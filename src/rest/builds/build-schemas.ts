import { BUILD_STATUSES } from '../../domain/builds/build.ts';
import { BUILD_NAME, MAX_BUILD_NAME_LENGTH } from '../../domain/builds/build-image.ts';
import { MAX_FILE_BYTES, MAX_FOLDER_ENTRIES, MAX_PATH_LENGTH } from '../../domain/builds/check-folder.ts';
import { REGISTRY_HOST } from '../../domain/images/image-reference.ts';
import { MAX_SECRET_NAME_LENGTH, SECRET_NAME } from '../../domain/secrets/secret.ts';
import { CREATED_AT, ENDPOINT_ID, type NamedSchemas } from '../shared/example-values.ts';
import {
  byDefault,
  closed,
  dateTime,
  nullableInteger,
  nullableString,
  pageLimit,
  ref,
  stringEnum,
} from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_PAGE = 100;
const MAX_TEXT = 4_096;
const MAX_ITEMS = 100;
const MAX_ID_LENGTH = 100;

const nullableDateTime = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description });

const name = Type.String({
  pattern: BUILD_NAME.source,
  maxLength: MAX_BUILD_NAME_LENGTH,
  description: 'What is built. Builds of one name end in the order in which they were created.',
});
const digest = Type.String({
  pattern: '^[0-9a-f]*$',
  minLength: 64,
  maxLength: 64,
  description: 'SHA-256 of the content, in hexadecimal.',
});
const size = Type.Integer({ minimum: 0, maximum: MAX_FILE_BYTES, description: 'In bytes.' });

const text = (description: string) => Type.String({ minLength: 1, maxLength: MAX_TEXT, description });
const nullableText = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], minLength: 1, maxLength: MAX_TEXT, description });
const texts = (description: string) => Type.Array(text(''), { maxItems: MAX_ITEMS, description });

/** An object of texts, by names that match a pattern. */
export const textsBy = (names: string, value: object, description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    description,
    maxProperties: MAX_ITEMS,
    propertyNames: { pattern: names },
    additionalProperties: { type: 'string', ...value },
  });

export const registriesByHost = textsBy(
  REGISTRY_HOST.source,
  { minLength: 1, maxLength: MAX_ID_LENGTH },
  'Ids of registries whose credentials pull images, by the host with which those images begin; Docker Hub’s is `docker.io`.',
);

const entry = Type.Unsafe<
  { kind: 'handler'; file: string; name: string } | { kind: 'program'; command: string[] } | null
>({
  description: 'A function that is served, or a program that does everything itself. Null: the Dockerfile says.',
  type: ['object', 'null'],
  required: ['kind'],
  properties: {
    kind: { type: 'string', enum: ['handler', 'program'] },
    file: { type: 'string', minLength: 1, maxLength: MAX_TEXT },
    name: { type: 'string', minLength: 1, maxLength: MAX_TEXT },
    command: { type: 'array', minItems: 1, maxItems: MAX_ITEMS, items: { type: 'string', maxLength: MAX_TEXT } },
  },
  additionalProperties: false,
});

const recipe = closed(
  {
    language: stringEnum(['dockerfile', 'python', 'javascript']),
    dockerfile: nullableText('The path of the Dockerfile in the folder. Null: it is generated.'),
    target: nullableText('The stage of the Dockerfile. Null: the last.'),
    base: nullableText('The image to begin with. Null: a slim one of the language.'),
    version: nullableText('Of Python or Node.js. Null: the builder’s default.'),
    installer: Type.Unsafe<'pip' | 'uv' | 'npm' | 'pnpm' | 'yarn' | null>({
      type: ['string', 'null'],
      enum: ['pip', 'uv', 'npm', 'pnpm', 'yarn', null],
      description: 'What installs the dependencies. Null: there are none.',
    }),
    lockFiles: texts('The files that alone decide what is installed.'),
    systemPackages: texts('Packages of the system’s distribution.'),
    secretIds: texts('Secrets that the installation of dependencies finds as variables of these names.'),
    buildCommand: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      minItems: 1,
      maxItems: MAX_ITEMS,
      items: { type: 'string', maxLength: MAX_TEXT },
      description: 'Runs once the code is in place. Null: nothing does.',
    }),
    entry,
  },
  { description: 'How the folder becomes an image.' },
);

/** Its values are those of the record: `FolderEntry`. */
const folderEntry = closed(
  {
    path: Type.String({ minLength: 1, maxLength: MAX_PATH_LENGTH, description: 'In the folder, with slashes.' }),
    digest: Type.Optional(digest),
    size: Type.Optional(size),
    mode: Type.Optional(Type.Integer({ minimum: 0, maximum: 0o7777, description: 'Whether it is executable counts.' })),
    link: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_PATH_LENGTH, description: 'Of a symbolic link: where it points.' }),
    ),
  },
  { oneOf: [{ required: ['digest'] }, { required: ['link'] }] },
);

export const CreateBuildRequest = closed(
  {
    name,
    files: Type.Array(folderEntry, {
      maxItems: MAX_FOLDER_ENTRIES,
      description: 'All files of the folder: `digest`, `size` and `mode`, or `link`.',
    }),
    recipe,
    args: Type.Optional(
      byDefault(
        textsBy(
          '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
          { maxLength: MAX_TEXT },
          'Values of the Dockerfile’s ARGs. They are no place for secrets: an image shows them.',
        ),
        {},
      ),
    ),
    secrets: Type.Optional(
      byDefault(
        textsBy(
          '^[A-Za-z0-9_.-]{1,128}$',
          { pattern: SECRET_NAME.source, maxLength: MAX_SECRET_NAME_LENGTH },
          'Names of secrets of the account, by the id under which a step mounts each.',
        ),
        {},
      ),
    ),
    registries: Type.Optional(byDefault(registriesByHost, {})),
    usesCache: Type.Optional(byDefault(Type.Boolean({ description: 'False: every step runs anew.' }), true)),
    endpointId: Type.Optional(
      Type.String({
        description:
          'The endpoint that it is for: with `endpointId` of the list it is shown there also if it fails. Default: those of its name.',
      }),
    ),
  },
  { $id: 'CreateBuildRequest', description: 'Podyard only: a folder, and how it becomes an image.' },
);

export const MissingFilesRequest = closed(
  { files: Type.Array(closed({ digest, size }), { maxItems: MAX_FOLDER_ENTRIES }) },
  { $id: 'MissingFilesRequest', description: 'Podyard only: files of a folder that is to be built.' },
);

export const MissingFiles = Type.Object(
  {
    missing: Type.Array(digest, { description: 'Those that have to be sent, each once.' }),
    partial: Type.Array(Type.Object({ digest, bytes: Type.Integer({ description: 'Where the rest of it begins.' }) }), {
      description: 'Those among them whose upload was cut.',
    }),
  },
  { $id: 'MissingFiles', description: 'Podyard only.' },
);

export const BuildResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    status: stringEnum(BUILD_STATUSES),
    image: nullableString({ description: 'The image’s name. Null until it is COMPLETED, and once it was removed.' }),
    digest: nullableString({ description: 'Of the image’s content.' }),
    sizeBytes: nullableInteger({ description: 'Of the image.' }),
    reason: nullableString({ description: 'Why it failed or was cancelled, or what it waits for.' }),
    failedStep: nullableString({ description: 'The name of the step that failed.' }),
    steps: Type.Array(
      Type.Object({
        name: Type.String(),
        status: stringEnum(['RUNNING', 'COMPLETED', 'CACHED', 'FAILED']),
        startedAt: dateTime(),
        endedAt: nullableDateTime('Null: it runs.'),
      }),
      { description: 'In the order in which they began.' },
    ),
    source: Type.Object({
      type: stringEnum(['UPLOAD', 'GIT']),
      url: Type.Optional(Type.String({ description: 'Of the repository. With GIT, as the following.' })),
      commit: Type.Optional(Type.String({ description: 'In hexadecimal.' })),
      ref: Type.Optional(Type.String({ description: 'The branch or tag, such as `refs/heads/main`.' })),
      author: Type.Optional(Type.String({ description: 'Of the commit.' })),
      message: Type.Optional(Type.String({ description: 'Of the commit: its first line.' })),
    }),
    endpointId: nullableString({ description: 'The endpoint that took its image last.' }),
    retryOf: nullableString({ description: 'The build that this one repeats.' }),
    contentHash: Type.String({ description: 'Of the folder and its recipe: the same for the same content.' }),
    createdAt: dateTime(),
    startedAt: nullableDateTime('Null: it has not begun.'),
    endedAt: nullableDateTime('Null: it has not ended.'),
  },
  { $id: 'Build', description: 'An image that is or was built from a folder.' },
);

export const BuildList = Type.Object(
  { builds: Type.Array(ref(BuildResponse)) },
  { $id: 'BuildList', description: 'The newest 100 builds of an endpoint, newest first.' },
);

export const BuildPage = Type.Object(
  {
    builds: Type.Array(ref(BuildResponse), { description: 'Newest first.' }),
    nextCursor: nullableString({ description: 'The `cursor` of the next page; null at the end.' }),
  },
  { $id: 'BuildPage', description: 'Podyard only: a page of the account’s builds.' },
);

export const BuildListQuery = Type.Object({
  name: Type.Optional(Type.String({ description: 'Only builds of this name.' })),
  endpointId: Type.Optional(
    Type.String({
      description:
        'Only builds whose image this endpoint took, and those for it whose image no endpoint took: of its repository, or failed and waiting ones of its name.',
    }),
  ),
  contentHash: Type.Optional(Type.String({ description: 'Only builds of this content.' })),
  limit: pageLimit('builds', { max: MAX_PAGE, default: 50 }),
  cursor: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,15}$', description: '`nextCursor` of the page before, with the same filters.' }),
  ),
});

export const BuildParams = Type.Object({ id: Type.String({ description: 'Build identifier.' }) });
export const BuildFileParams = Type.Object({ digest });
export const EndpointBuildParams = Type.Object({
  id: Type.String({ description: 'Endpoint identifier.' }),
  buildId: Type.String({ description: 'Build identifier.' }),
});
export const BuildLogHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ pattern: '^[0-9]{0,15}$', description: 'Continues after the event with this id.' }),
  ),
});

const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const build = {
  id: 'b7k2m9x4c1v8zt',
  name: 'transcriber',
  status: 'COMPLETED',
  image: 'builds.podyard.internal/transcriber:b7k2m9x4c1v8zt',
  digest: `sha256:${DIGEST}`,
  sizeBytes: 184_320_512,
  reason: null,
  failedStep: null,
  steps: [
    { name: 'install the dependencies', status: 'CACHED', startedAt: CREATED_AT, endedAt: CREATED_AT },
    { name: 'copy the code', status: 'COMPLETED', startedAt: CREATED_AT, endedAt: CREATED_AT },
  ],
  source: { type: 'UPLOAD' },
  endpointId: ENDPOINT_ID,
  retryOf: null,
  contentHash: DIGEST,
  createdAt: CREATED_AT,
  startedAt: CREATED_AT,
  endedAt: CREATED_AT,
};

export const BUILD_SCHEMAS: NamedSchemas = [
  [BuildResponse, build],
  [BuildList, { builds: [build] }],
  [BuildPage, { builds: [build], nextCursor: null }],
  [
    CreateBuildRequest,
    {
      name: 'transcriber',
      files: [
        { path: 'handler.py', digest: DIGEST, size: 412, mode: 0o644 },
        { path: 'models/default', link: 'large' },
      ],
      recipe: {
        language: 'python',
        dockerfile: null,
        target: null,
        base: null,
        version: '3.12',
        installer: 'pip',
        lockFiles: ['requirements.txt'],
        systemPackages: [],
        secretIds: ['INDEX_TOKEN'],
        buildCommand: null,
        entry: { kind: 'handler', file: 'handler.py', name: 'handler' },
      },
      secrets: { INDEX_TOKEN: 'index-token' },
    },
  ],
  [MissingFilesRequest, { files: [{ digest: DIGEST, size: 412 }] }],
  [MissingFiles, { missing: [DIGEST], partial: [] }],
];
