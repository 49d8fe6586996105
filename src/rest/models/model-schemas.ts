import { MAX_REFERENCE_LENGTH } from '../../domain/models/model-reference.ts';
import { RECIPE_SCHEMA, type Recipe } from '../../domain/models/recipe.ts';
import builtIn from '../../domain/models/recipes.json' with { type: 'json' };
import { MAX_MODELS } from '../../domain/models/resolve-models.ts';
import { MAX_SECRET_NAME_LENGTH, SECRET_NAME } from '../../domain/secrets/secret.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { closed, nullableString } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_PATTERNS = 100;
const MAX_PATTERN_LENGTH = 200;

const patterns = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_PATTERN_LENGTH, pattern: '^[^\\u0000-\\u001f\\u007f]+$' }), {
    maxItems: MAX_PATTERNS,
    description,
  });
const include = patterns('Only files that one of these patterns matches: `*` stands for any characters, `?` for one.');
const exclude = patterns('No files that one of these patterns matches.');

/** A model, as requests ask for it. */
export const MODEL_REQUEST = {
  source: Type.String({
    minLength: 1,
    maxLength: MAX_REFERENCE_LENGTH,
    description:
      '`hf:<owner>/<name>[@<revision>]`, of a hub; `https://<host>/<path>#sha256=<hex>` or `s3://<bucket>/<key>#sha256=<hex>`, a file with its digest; or `oci://<registry>/<repository>` with `:<tag>` or `@<digest>`, an artifact.',
  }),
  include: Type.Optional(include),
  exclude: Type.Optional(exclude),
  tokenSecret: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      pattern: SECRET_NAME.source,
      maxLength: MAX_SECRET_NAME_LENGTH,
      description: 'The name of your secret with a token of the model’s origin. Null: none is needed.',
    }),
  ),
};

/** Models, as requests ask for them. */
export const MODELS_REQUEST = Type.Array(closed(MODEL_REQUEST, { description: 'A model, as it is asked for.' }), {
  maxItems: MAX_MODELS,
  description: 'Models, of which no two are commits of the same.',
});

export const ReplaceEndpointModelsRequest = closed({ models: MODELS_REQUEST }, { $id: 'ReplaceEndpointModelsRequest' });
export const ResolveModelsRequest = closed({ models: MODELS_REQUEST }, { $id: 'ResolveModelsRequest' });

const bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const SHOWN = {
  id: Type.String({ description: 'Stands for exactly these files, whoever uses them.' }),
  source: Type.String({ description: 'As a request would name it.' }),
  name: Type.String({ description: '`<owner>/<name>` of a hub’s model, or a URL.' }),
  revision: nullableString({ description: 'The branch, tag or commit that was asked for. Null: the source has none.' }),
  commit: Type.String({ description: 'What that was when it was asked for; the digest of a file.' }),
  include,
  exclude,
  tokenSecret: nullableString({ description: 'The secret with the token. Null: none.' }),
  bytes: Type.Unsafe<number>({ ...bytes, description: 'Size of all files.' }),
  files: Type.Integer({ minimum: 0, description: 'How many files.' }),
};

export const EndpointModelsResponse = Type.Object(
  {
    models: Type.Array(
      Type.Object({
        ...SHOWN,
        problem: nullableString({ description: 'Why a machine cannot fetch it, as far as is known. Null: nothing.' }),
      }),
    ),
  },
  { $id: 'EndpointModels', description: 'Podyard only: the models of an endpoint’s newest release.' },
);

export const ResolvedModelsResponse = Type.Object(
  {
    models: Type.Array(
      Type.Object({
        ...SHOWN,
        task: nullableString({
          description: 'What it is made for, in the hub’s words: `text-generation`. Null: unknown.',
        }),
        content: Type.Array(Type.Object({ path: Type.String(), bytes }), { description: 'Its files.' }),
      }),
    ),
    recipes: Type.Array(Type.Unsafe<Recipe>(RECIPE_SCHEMA), { description: 'How models become endpoints here.' }),
  },
  { $id: 'ResolvedModels', description: 'Podyard only: what models stand for now.' },
);

const REQUEST = { models: [{ source: 'hf:Qwen/Qwen3-8B@main', exclude: ['*.gguf'], tokenSecret: null }] };
const MODEL = {
  id: '5c1d2b0f3a7e49d8b6c5a4f3e2d1c0b9a8f7e6d5c4b3a29180f7e6d5c4b3a291',
  source: 'hf:Qwen/Qwen3-8B@main',
  name: 'Qwen/Qwen3-8B',
  revision: 'main',
  commit: '9c925d64d72725edaf899c6cb9c377fd0709d9c5',
  include: [],
  exclude: ['*.gguf'],
  tokenSecret: null,
  bytes: 16_393_989_888,
  files: 15,
};

export const MODEL_SCHEMAS: NamedSchemas = [
  [ReplaceEndpointModelsRequest, REQUEST],
  [ResolveModelsRequest, REQUEST],
  [EndpointModelsResponse, { models: [{ ...MODEL, problem: null }] }],
  [
    ResolvedModelsResponse,
    {
      recipes: [builtIn.find(({ name }) => name === 'embedding')],
      models: [
        { ...MODEL, files: 1, task: 'text-generation', content: [{ path: 'model.safetensors', bytes: MODEL.bytes }] },
      ],
    },
  ],
];
