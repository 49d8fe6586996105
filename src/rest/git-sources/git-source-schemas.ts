import { STATUS_APIS } from '../../domain/git-sources/commit-status.ts';
import {
  MAX_POLL_SECONDS,
  MAX_REF_LENGTH,
  MAX_URL_LENGTH,
  MIN_POLL_SECONDS,
} from '../../domain/git-sources/git-source.ts';
import { MAX_SECRET_NAME_LENGTH, SECRET_NAME } from '../../domain/secrets/secret.ts';
import { registriesByHost, textsBy } from '../builds/build-schemas.ts';
import { CREATED_AT, ENDPOINT_ID, type NamedSchemas } from '../shared/example-values.ts';
import { byDefault, closed, dateTime, nullableInteger, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_TEXT = 1_024;
const MAX_ITEMS = 100;
const AUTH_TYPES = ['NONE', 'TOKEN', 'DEPLOY_KEY'] as const;

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT, description }));
const texts = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: MAX_TEXT }), { maxItems: MAX_ITEMS, description }));
const optionalTextsBy = (...given: Parameters<typeof textsBy>) => Type.Optional(textsBy(...given));

const build = closed(
  {
    dockerfile: text('Path of the Dockerfile in the folder.'),
    target: text('The stage of the Dockerfile to build.'),
    args: optionalTextsBy(
      '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
      { maxLength: MAX_TEXT },
      'Values of the Dockerfile’s ARGs.',
    ),
    handler: text('The function to serve: a file, or a file and a name such as `src/app.py:run`.'),
    command: texts('The program to start instead of a function.'),
    base: text('The image to begin with, such as a CUDA image.'),
    python: Type.Optional(Type.String({ pattern: '^3\\.[0-9]{1,2}$', description: 'Version of Python.' })),
    node: Type.Optional(Type.String({ pattern: '^[0-9]{2}$', description: 'Version of Node.js.' })),
    systemPackages: texts('Packages of the system, such as ffmpeg.'),
    secrets: optionalTextsBy(
      '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
      { pattern: SECRET_NAME.source, maxLength: MAX_SECRET_NAME_LENGTH },
      'Names of secrets, by the variable with which the installation of dependencies finds each.',
    ),
    registries: Type.Optional(registriesByHost),
  },
  {
    description:
      'How the folder becomes an image, as `build` in podyard.yaml. What is left out is found in the folder.',
  },
);

const url = Type.String({
  minLength: 1,
  maxLength: MAX_URL_LENGTH,
  description: '`https://…`, or `ssh://…` or `git@host:path` with a deploy key. Without TLS only in a private network.',
});
const pollRange = { minimum: MIN_POLL_SECONDS, maximum: MAX_POLL_SECONDS };

export const ReplaceGitSourceRequest = closed(
  {
    url,
    branch: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_REF_LENGTH, description: 'Default, without `tags`: `main`.' }),
    ),
    tags: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_REF_LENGTH,
        description: 'Instead of a branch: a pattern such as `v*`, of whose tags the highest version is built.',
      }),
    ),
    folder: Type.Optional(
      byDefault(Type.String({ maxLength: MAX_TEXT, description: 'In the repository. Empty: all of it.' }), ''),
    ),
    build: Type.Optional(byDefault(build, {})),
    applySettings: Type.Optional(
      byDefault(
        Type.Boolean({
          description:
            'With each commit the endpoint takes what its podyard.yaml says, as well as the image. `build` here precedes that of the file.',
        }),
        false,
      ),
    ),
    auth: Type.Optional(
      byDefault(
        closed(
          {
            type: stringEnum(AUTH_TYPES, {
              description: 'DEPLOY_KEY: Podyard makes a key pair, whose public half the repository has to know.',
            }),
            secret: Type.Optional(
              Type.String({
                minLength: 1,
                maxLength: MAX_SECRET_NAME_LENGTH,
                description: 'With TOKEN: the name of the secret with it.',
              }),
            ),
          },
          { description: 'What reads a private repository.' },
        ),
        { type: 'NONE' },
      ),
    ),
    pollSeconds: Type.Optional(
      byDefault(
        nullableInteger({ ...pollRange, description: 'How often to look. Null: when a webhook or you ask.' }),
        null,
      ),
    ),
    statuses: Type.Optional(
      stringEnum(STATUS_APIS, {
        description:
          'Whose API the host has, which is told how the build of each commit goes; needs TOKEN, with a token that may write statuses. Default: that of github.com, gitlab.com, codeberg.org and gitea.com where there is a token; else NONE.',
      }),
    ),
    rotateWebhookSecret: Type.Optional(
      byDefault(Type.Boolean({ description: 'Makes a new secret for the webhook.' }), false),
    ),
  },
  { $id: 'ReplaceGitSourceRequest', description: 'Podyard only: the repository that an endpoint is built from.' },
);

export const GitSourceResponse = Type.Object(
  {
    id: Type.String(),
    endpointId: Type.String(),
    url,
    branch: nullableString({ description: 'Null: tags are built.' }),
    tags: nullableString({ description: 'Null: a branch is built.' }),
    folder: Type.String(),
    build,
    applySettings: Type.Boolean({ description: 'The endpoint takes what podyard.yaml of each commit says.' }),
    auth: Type.Object({
      type: stringEnum(AUTH_TYPES),
      secret: nullableString({ description: 'The name of the secret with the token. Null: none, or it was deleted.' }),
      publicKey: nullableString({ description: 'The public half of the deploy key. Null: there is none.' }),
    }),
    pollSeconds: nullableInteger(pollRange),
    statuses: stringEnum(STATUS_APIS, { description: 'Whose API is told how builds go. NONE: nobody is.' }),
    statusError: nullableString({ description: 'Why the last status was not posted.' }),
    webhookUrl: Type.String({ description: 'Where a webhook of the repository’s host has to go.' }),
    webhookSecret: nullableString({ description: 'What it is signed with. Shown when it is new; null otherwise.' }),
    isLooking: Type.Boolean({ description: 'A look at the repository was asked for, and has not succeeded yet.' }),
    lastCommit: nullableString({ description: 'The newest commit that was read. Null: none yet.' }),
    lastRef: nullableString({ description: 'The branch or tag that named it, such as `refs/heads/main`.' }),
    lastError: nullableString({
      description: 'Why the last look found nothing, or its commit is not built or deployed.',
    }),
    lastLookedAt: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
    lastBuildId: nullableString({ description: 'Its newest build.' }),
    createdAt: dateTime(),
  },
  { $id: 'GitSource', description: 'Podyard only: the repository that an endpoint is built from.' },
);

export const GitHookResponse = Type.Object(
  {
    look: Type.Boolean({ description: 'The repository is looked at.' }),
    ignored: nullableString({ description: 'Why it is not.' }),
  },
  { $id: 'GitHookResult', description: 'Podyard only: what follows from a webhook.' },
);

const COMMIT = '7f0c2b9d4e6a81352c0f9be7d41a6835f2c9e0ab';

export const GIT_SOURCE_SCHEMAS: NamedSchemas = [
  [
    ReplaceGitSourceRequest,
    {
      url: 'https://github.com/example/transcriber',
      branch: 'main',
      folder: 'services/worker',
      auth: { type: 'TOKEN', secret: 'github-token' },
      pollSeconds: 300,
    },
  ],
  [
    GitSourceResponse,
    {
      id: 'g4t8x1m6p9q2zk',
      endpointId: ENDPOINT_ID,
      url: 'https://github.com/example/transcriber',
      branch: 'main',
      tags: null,
      folder: 'services/worker',
      build: {},
      applySettings: false,
      auth: { type: 'TOKEN', secret: 'github-token', publicKey: null },
      pollSeconds: 300,
      statuses: 'GITHUB',
      statusError: null,
      webhookUrl: 'https://podyard.example.com/hooks/git/g4t8x1m6p9q2zk',
      webhookSecret: null,
      isLooking: false,
      lastCommit: COMMIT,
      lastRef: 'refs/heads/main',
      lastError: null,
      lastLookedAt: CREATED_AT,
      lastBuildId: 'b7k2m9x4c1v8zt',
      createdAt: CREATED_AT,
    },
  ],
  [GitHookResponse, { look: true, ignored: null }],
];
