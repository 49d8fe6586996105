/** How a model becomes an endpoint; `RECIPE_SCHEMA` says what each field means. */
export interface Recipe {
  name: string;
  tasks: string[];
  needs: string[];
  exclude: string[];
  image: string;
  args: string;
  port: number;
  env: Record<string, string>;
  memory: { factor: number; gb: number };
  flashboot: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';
  idleTimeout: number;
  call: { path: string; body?: Record<string, unknown>; file?: string };
}

const text = (description: string) => ({ type: 'string', minLength: 1, description });
const texts = (description: string, more: object = {}) => ({
  ...{ type: 'array', items: { type: 'string', minLength: 1 }, description },
  ...more,
});
const amount = { type: 'number', minimum: 0 };
const closed = <T>(properties: Record<keyof T & string, object>, more: object = {}) => ({
  ...{ type: 'object', required: Object.keys(properties), properties, additionalProperties: false },
  ...more,
});

/** The JSON Schema of a recipe, for files of operators and for the description of the API. */
export const RECIPE_SCHEMA = closed<Recipe>({
  name: text('What people choose it by.'),
  tasks: texts('The hub’s words for what its models are made for.'),
  needs: texts('Patterns, one of which must match a file of the model.', { minItems: 1 }),
  exclude: texts('Patterns of files that the image does not read.'),
  image: text('Serves OpenAI’s routes below `/v1` on `port`.'),
  args: {
    type: 'string',
    description:
      '`{model}` stands for the model’s name, `{gpus}` for the GPUs of a worker, which may have several then.',
  },
  port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'Where its container listens.' },
  env: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Variables of its workers. `{model}` and `{gpus}` stand for the same as in `args`.',
  },
  memory: closed<Recipe['memory']>(
    { factor: amount, gb: amount },
    { description: 'GPU memory of a worker: the bytes of the model’s files times `factor`, and `gb` more.' },
  ),
  flashboot: {
    type: 'string',
    enum: ['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'],
    description: 'Whether idle workers sleep.',
  },
  idleTimeout: { type: 'integer', minimum: 0, description: 'Seconds until an idle worker leaves.' },
  call: closed<Recipe['call']>(
    { path: text('Below `/v1`.'), body: { type: 'object', additionalProperties: true }, file: text('Of the form.') },
    { required: ['path'], description: 'A call to show: below `/v1`, with a JSON body or a file.' },
  ),
});
