import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { OWN_CATALOG } from '../domain/catalog/catalog.ts';

/** docs/interface/graphql.md, "Templates". */
let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  await rest.database.pool.query('delete from endpoints; delete from templates');
});

const ALL = `id name imageName isServerless isPublic isRunpod category ports portsConfig { port name } env { key value }
  dockerArgs containerDiskInGb containerRegistryAuthId volumeInGb volumeMountPath readme startJupyter startSsh startScript
  advancedStart config`;
const SAVE = `mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { ${ALL} createdAt } }`;
const LEAST = { name: 't', imageName: 'ubuntu:24.04', containerDiskInGb: 10, volumeInGb: 0 };
const FULL = {
  ...LEAST,
  volumeInGb: 40,
  volumeMountPath: '/data',
  dockerArgs: 'python -u main.py',
  env: [
    { key: 'B', value: 'two words' },
    { key: 'A', value: '{{ RUNPOD_SECRET_token }}' },
  ],
  ports: '8888/http,22/tcp',
  portsConfig: [{ port: 8888, name: 'Jupyter' }],
  readme: '# Read me\n',
  isPublic: true,
  category: 'AMD',
  config: { any: [1, 'thing'] },
  startSsh: true,
  startJupyter: true,
  startScript: 'echo hello',
  advancedStart: true,
};

const save = async (input: object, key = rest.alice.key) => rest.graphql(SAVE, { key, variables: { input } });
const saved = async (input: object) => {
  const { data, errors } = await save(input);
  expect(errors).toBeUndefined();
  return data.saveTemplate;
};
const refusal = async (input: object) => {
  const { data, errors } = await save(input);
  expect(data.saveTemplate).toBeNull();
  return [errors![0]!.extensions.code, errors![0]!.message];
};
const viaRest = async (id: string) => (await rest.call('GET', `/v2/templates/${id}`, { key: rest.alice.key })).json();

describe('saveTemplate creates', () => {
  test('a template with an id, and defaults for absent fields', async () => {
    const { id, createdAt, ...fields } = await saved(LEAST);
    expect(id).toMatch(/^[a-z][a-z0-9]+$/);
    expect(Date.parse(createdAt)).toBeGreaterThan(Date.now() - 60_000);
    expect(fields).toEqual({
      ...LEAST,
      isServerless: false,
      isPublic: false,
      isRunpod: false,
      category: 'NVIDIA',
      ports: '',
      portsConfig: [],
      env: [],
      dockerArgs: '',
      containerRegistryAuthId: null,
      volumeMountPath: '',
      readme: '',
      startJupyter: false,
      startSsh: false,
      startScript: '',
      advancedStart: false,
      config: null,
    });
  });

  test('one with every field, which is read back unchanged', async () => {
    const { id, env, ...fields } = await saved(FULL);
    const { env: givenEnv, ...given } = FULL;
    expect(fields).toMatchObject(given);
    const { data } = await rest.graphql(`query ($id: String!) { podTemplate(id: $id) { ${ALL} } }`, {
      key: rest.alice.key,
      variables: { id },
    });
    expect(data.podTemplate).toMatchObject(given);
    for (const list of [env, data.podTemplate.env]) expect(list).toEqual(givenEnv); // in the given order
  });

  test('the same template that REST shows', async () => {
    const { id } = await saved(FULL);
    expect(await viaRest(id)).toEqual({
      id,
      name: 't',
      image: 'ubuntu:24.04',
      args: 'python -u main.py',
      disk: 10,
      ports: ['8888/http', '22/tcp'],
      env: { A: '{{ RUNPOD_SECRET_token }}', B: 'two words' },
      registry: null,
      mounts: { persistent: { size: 40, path: '/data' } },
      serverless: false,
      public: true,
      category: 'AMD',
      startSsh: true,
      startJupyter: true,
      allowedCudaVersions: [],
    });
  });

  test('a volume at /workspace by default, and keeps a path without a volume', async () => {
    expect((await saved({ ...LEAST, volumeInGb: 5 })).volumeMountPath).toBe('/workspace');
    const { id, volumeMountPath } = await saved({ ...LEAST, name: 'u', volumeMountPath: '/runpod-volume' });
    expect(volumeMountPath).toBe('/runpod-volume');
    expect((await viaRest(id)).mounts).toEqual({});
  });

  test('with null and empty fields as if absent', async () => {
    const nothing = { dockerArgs: null, env: null, ports: null, readme: null, isServerless: null, isPublic: null };
    const { id } = await saved({ ...LEAST, ...nothing, id: '', containerRegistryAuthId: '', volumeMountPath: '' });
    expect(await viaRest(id)).toMatchObject({ args: '', env: {}, ports: [], registry: null, serverless: false });
  });

  test('for a private image, with saved credentials', async () => {
    const { json } = await rest.call('POST', '/v2/registries', {
      key: rest.alice.key,
      body: { name: 'hub', username: 'u', password: 'p' },
    });
    const registry = json().id;
    const template = await saved({ ...LEAST, containerRegistryAuthId: registry });
    expect(template.containerRegistryAuthId).toBe(registry);
    expect((await viaRest(template.id)).registry).toBe(registry);
  });
});

describe('saveTemplate with an id', () => {
  test('replaces every field, absent ones by their defaults', async () => {
    const { id, createdAt } = await saved(FULL);
    const replaced = await saved({ ...LEAST, id, imageName: 'other:1' });
    expect(replaced).toMatchObject({ id, createdAt, imageName: 'other:1', dockerArgs: '', env: [], ports: '' });
    expect(replaced).toMatchObject({ readme: '', startSsh: false, portsConfig: [], config: null, category: 'NVIDIA' });
    expect(await viaRest(id)).toMatchObject({ mounts: {}, public: false, env: {} });
  });

  test('renames, but not to a taken name', async () => {
    await saved(LEAST);
    const { id } = await saved({ ...LEAST, name: 'other' });
    expect(await refusal({ ...LEAST, id, name: 't' })).toEqual([
      'CONFLICT',
      "name: there is already a template named 't'",
    ]);
    expect((await saved({ ...LEAST, id, name: 'third' })).name).toBe('third');
  });

  test('is the same NOT_FOUND for an unknown and another user’s template', async () => {
    const { id } = await saved(LEAST);
    const input = { ...LEAST, name: 'x' };
    const foreign = await save({ ...input, id }, rest.bob.key);
    const missing = await save({ ...input, id: 'missing' }, rest.bob.key);
    expect(foreign.errors).toMatchObject([{ message: 'Template not found', extensions: { code: 'NOT_FOUND' } }]);
    expect(foreign).toEqual(missing);
  });
});

describe('saveTemplate refuses', () => {
  test.each([
    ['a name that is taken', {}, 'CONFLICT', "name: there is already a template named 't'"],
    ['an empty name', { name: '' }, 'BAD_USER_INPUT', 'name: must not be empty'],
    ['an empty image', { name: 'u', imageName: '' }, 'BAD_USER_INPUT', 'imageName: must not be empty'],
    ['a disk of 0', { name: 'u', containerDiskInGb: 0 }, 'BAD_USER_INPUT', 'containerDiskInGb: must be at least 1'],
    ['a negative volume', { name: 'u', volumeInGb: -1 }, 'BAD_USER_INPUT', 'volumeInGb: must be at least 0'],
    [
      'a volume for serverless',
      { name: 'u', volumeInGb: 1, isServerless: true },
      'BAD_USER_INPUT',
      'volumeInGb: must be 0 for a serverless template',
    ],
    ['ports in another form', { name: 'u', ports: '80' }, 'BAD_USER_INPUT', /^ports: '80' is not <port>\/<protocol>/],
    ['a port out of range', { name: 'u', ports: '65536/tcp' }, 'BAD_USER_INPUT', /^ports: '65536\/tcp'/],
    ['a port twice', { name: 'u', ports: '80/http,80/http' }, 'BAD_USER_INPUT', /more than once/],
    [
      'eleven HTTP ports',
      { name: 'u', ports: Array.from({ length: 11 }, (_, i) => `${8000 + i}/http`).join(',') },
      'BAD_USER_INPUT',
      /11 HTTP ports are listed, but at most 10/,
    ],
    ['an env name with =', { name: 'u', env: [{ key: 'A=B', value: '' }] }, 'BAD_USER_INPUT', /^env: a name/],
    [
      'an env name twice',
      { name: 'u', env: [1, 2].map((n) => ({ key: 'A', value: `${n}` })) },
      'BAD_USER_INPUT',
      "env: 'A' is listed more than once",
    ],
    [
      'a relative path',
      { name: 'u', volumeMountPath: 'data' },
      'BAD_USER_INPUT',
      "volumeMountPath: must begin with '/'",
    ],
    ['an unknown category', { name: 'u', category: 'TPU' }, 'BAD_USER_INPUT', /^category: must be one of/],
    [
      'unknown credentials',
      { name: 'u', containerRegistryAuthId: 'nope' },
      'BAD_USER_INPUT',
      "registry: there is no registry 'nope'",
    ],
  ])('%s', async (_, change, code, message) => {
    await saved(LEAST);
    const [foundCode, foundMessage] = await refusal({ ...LEAST, ...change });
    expect(foundCode).toBe(code);
    if (typeof message === 'string') expect(foundMessage).toBe(message);
    else expect(foundMessage).toMatch(message);
  });

  test('text that PostgreSQL cannot store, in any notation', async () => {
    for (const name of ['a\0', '\ud800']) {
      const variables = { input: { ...LEAST, name } };
      const { errors } = await rest.graphql(SAVE, { key: rest.alice.key, variables, status: 400 });
      expect(errors![0]!.message).toMatch(/^\/variables\/input\/name: must /);
      const literal = JSON.stringify(name);
      const query = `mutation { saveTemplate(input: {name: ${literal}, imageName: "i", containerDiskInGb: 1, volumeInGb: 0}) { id } }`;
      const inline = await rest.graphql(query, { key: rest.alice.key, status: 400 });
      expect(inline.errors![0]!.extensions.code).toBe('BAD_USER_INPUT');
    }
    const dotted = await saved({ ...LEAST, name: 'd\u00e9j\u00e0 \ud83d\ude00' });
    expect(dotted.name).toBe('d\u00e9j\u00e0 \ud83d\ude00');
  });

  test('null for its input', async () => {
    for (const variables of [{ input: null }, {}]) {
      const { data, errors } = await rest.graphql(SAVE, { key: rest.alice.key, variables });
      expect(data).toEqual({ saveTemplate: null });
      expect(errors).toMatchObject([{ message: 'input: is required', extensions: { code: 'BAD_USER_INPUT' } }]);
    }
  });
});

describe('a template made in REST', () => {
  test('is the same in GraphQL, and a REST PATCH keeps GraphQL’s own fields', async () => {
    const { json } = await rest.call('POST', '/v2/templates', {
      key: rest.alice.key,
      body: { name: 'r', image: 'i:1', args: 'a', env: { K: 'v' }, ports: ['1/tcp'], serverless: true },
    });
    const { data } = await rest.graphql(`{ podTemplate(id: "${json().id}") { ${ALL} } }`, { key: rest.alice.key });
    expect(data.podTemplate).toMatchObject({
      name: 'r',
      imageName: 'i:1',
      dockerArgs: 'a',
      env: [{ key: 'K', value: 'v' }],
      ports: '1/tcp',
      isServerless: true,
      containerDiskInGb: 20,
      volumeInGb: 0,
    });
    const { id } = await saved(FULL);
    await rest.call('PATCH', `/v2/templates/${id}`, { key: rest.alice.key, body: { image: 'new:2', mounts: {} } });
    const after = await rest.graphql(`{ podTemplate(id: "${id}") { ${ALL} } }`, { key: rest.alice.key });
    expect(after.data.podTemplate).toMatchObject({
      imageName: 'new:2',
      volumeInGb: 0,
      readme: FULL.readme,
      startSsh: true,
    });
  });
});

describe('deleteTemplate', () => {
  const remove = (templateName: string, key = rest.alice.key) =>
    rest.graphql('mutation ($templateName: String!) { deleteTemplate(templateName: $templateName) }', {
      key,
      variables: { templateName },
    });
  const endpointOf = async (templateId: string) =>
    (
      await rest.call('POST', '/v2/serverless', {
        key: rest.alice.key,
        body: { name: 'e', templateId, gpu: { pools: ['ADA_24'] } },
      })
    ).json().id;

  test('deletes by name and returns null', async () => {
    const { id } = await saved(LEAST);
    expect(await remove('t')).toEqual({ data: { deleteTemplate: null } });
    expect((await rest.call('GET', `/v2/templates/${id}`, { key: rest.alice.key })).statusCode).toBe(404);
  });

  test('of an unknown or another user’s template is NOT_FOUND', async () => {
    await saved(LEAST);
    const foreign = await remove('t', rest.bob.key);
    expect(foreign.errors).toMatchObject([{ message: 'Template not found', extensions: { code: 'NOT_FOUND' } }]);
    expect(foreign).toEqual(await remove('u', rest.bob.key));
  });

  test('fails while an endpoint uses it, and succeeds right after its delete', async () => {
    const { id } = await saved({ ...LEAST, isServerless: true });
    const endpointId = await endpointOf(id);
    expect((await remove('t')).errors).toMatchObject([
      { message: 'The template is in use by an endpoint.', extensions: { code: 'CONFLICT' } },
    ]);
    await rest.call('DELETE', `/v2/serverless/${endpointId}`, { key: rest.alice.key });
    expect((await remove('t')).errors).toBeUndefined();
  });

  test('a key for one template deletes only that one, and cannot tell which others exist', async () => {
    const { id } = await saved(LEAST);
    await saved({ ...LEAST, name: 'other' });
    const key = await rest.keyFor(rest.alice, `templates/${id}:write`);
    const other = await remove('other', key);
    expect(other.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    expect(other).toEqual(await remove('missing', key));
    expect(await remove('t', key)).toEqual({ data: { deleteTemplate: null } });
  });
});

test('podTemplates and myself list the user’s templates, oldest first, or the built-in ones', async () => {
  for (const name of ['b', 'a']) await saved({ ...LEAST, name });
  const { data } = await rest.graphql(
    `{ podTemplates { name } own: podTemplates(input: {isRunpod: false}) { name } all: podTemplates(input: {isRunpod: true}) { name }
       myself { podTemplates { name } } }`,
    { key: rest.alice.key },
  );
  const both = [{ name: 'b' }, { name: 'a' }];
  const builtIn = OWN_CATALOG.templates.map(({ name }) => ({ name }));
  expect(data).toEqual({ podTemplates: both, own: both, all: builtIn, myself: { podTemplates: both } });
});

test('everybody reads a built-in template, and nobody changes or deletes it', async () => {
  const { data } = await rest.graphql(`{ podTemplate(id: "runpod-ubuntu") { id name imageName isPublic isRunpod } }`, {
    key: rest.alice.key,
  });
  const { id, name, image } = OWN_CATALOG.templates[0]!;
  expect(data.podTemplate).toEqual({ id, name, imageName: image, isPublic: true, isRunpod: true });
  const [code] = await refusal({ ...LEAST, id: 'runpod-ubuntu' });
  expect(code).toBe('NOT_FOUND');
  const { errors } = await rest.graphql(`mutation { deleteTemplate(templateName: "${name}") }`, {
    key: rest.alice.key,
  });
  expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
});

test('an image of a registry that is not allowed is refused', async () => {
  const [code, message] = await refusal({ ...LEAST, imageName: '169.254.169.254/a' });
  expect(code).toBe('BAD_USER_INPUT');
  expect(message).toContain("images cannot come from '169.254.169.254'");
});
