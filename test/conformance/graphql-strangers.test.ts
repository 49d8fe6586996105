import { readFileSync } from 'node:fs';
import { buildSchema, isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuStock } from '../../src/domain/catalog/capacity-source.ts';
import { type GraphqlAnswer, type Person, type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * docs/interface/graphql.md, "Other accounts": two users with records of the same names: none sees or changes what is
 * the other's, through any query or mutation, and cannot tell it from what is missing. The table must name every
 * operation of the schema.
 */
let rest: RestFixture;
let alice: Records;
let bob: Records;

interface Records {
  person: Person;
  template: string;
  endpoint: string;
  pod: string;
  cluster: string;
  volume: string;
  registry: string;
  secret: string;
}

const RTX_4090 = 'NVIDIA GeForce RTX 4090';
const CATALOGUE = ['gpuTypes', 'cpuFlavors', 'dataCenters', 'serverlessGpuPools'];
/** Always empty. */
const EMPTY = [
  'countryCodes',
  'listings',
  'listing',
  'listingFromRepo',
  'myModels',
  'models',
  'cpuTypes',
  'myModel',
  'allAiApiPublicConfigs',
];
/** Operations that create a record and name no existing one. */
const MAKING = [
  'podFindAndDeployOnDemand',
  'podRentInterruptable',
  'deployCpuPod',
  'createCluster',
  'saveRegistryAuth',
  'createNetworkVolume',
  'secretCreate',
];

/** Operations that name a record, each with the document for one user's records. */
const BY_RECORD: Record<string, (records: Records) => string> = {
  'Query.podTemplate': ({ template }) => `{ podTemplate(id: "${template}") { id name } }`,
  'Query.pod': ({ pod }) => `{ pod(input: {podId: "${pod}"}) { id name } }`,
  'User.cluster': ({ cluster }) => `{ myself { cluster(input: {id: "${cluster}"}) { id name } } }`,
  'User.endpoint': ({ endpoint }) => `{ myself { endpoint(id: "${endpoint}") { id name } } }`,
  'Mutation.saveTemplate': ({ template }) =>
    `mutation { saveTemplate(input: {id: "${template}", name: "stolen", imageName: "i", containerDiskInGb: 1, volumeInGb: 0}) { id } }`,
  'Mutation.secretUpdate': ({ secret }) =>
    `mutation { secretUpdate(input: {id: "${secret}", value: "stolen"}) { id } }`,
  'Mutation.secretDelete': ({ secret }) => `mutation { secretDelete(id: "${secret}", force: true) }`,
  'Mutation.saveEndpoint': ({ endpoint }) =>
    `mutation { saveEndpoint(input: {id: "${endpoint}", name: "stolen"}) { id } }`,
  'Mutation.deleteEndpoint': ({ endpoint }) => `mutation { deleteEndpoint(id: "${endpoint}") }`,
  'Mutation.updateEndpointTemplate': ({ endpoint }) =>
    `mutation { updateEndpointTemplate(input: {endpointId: "${endpoint}", templateId: "${bob.template}"}) { id } }`,
  'Mutation.podStop': ({ pod }) => `mutation { podStop(input: {podId: "${pod}"}) { id } }`,
  'Mutation.podResume': ({ pod }) => `mutation { podResume(input: {podId: "${pod}", gpuCount: 1}) { id } }`,
  'Mutation.podBidResume': ({ pod }) => `mutation { podBidResume(input: {podId: "${pod}", bidPerGpu: 9}) { id } }`,
  'Mutation.podEditJob': ({ pod }) => `mutation { podEditJob(input: {podId: "${pod}", imageName: "stolen"}) { id } }`,
  'Mutation.podTerminate': ({ pod }) => `mutation { podTerminate(input: {podId: "${pod}"}) }`,
  'Mutation.deleteCluster': ({ cluster }) => `mutation { deleteCluster(input: {id: "${cluster}"}) }`,
  'Mutation.updateRegistryAuth': ({ registry }) =>
    `mutation { updateRegistryAuth(input: {id: "${registry}", username: "u", password: "stolen"}) { id } }`,
  'Mutation.deleteRegistryAuth': ({ registry }) => `mutation { deleteRegistryAuth(registryAuthId: "${registry}") }`,
  'Mutation.updateNetworkVolume': ({ volume }) =>
    `mutation { updateNetworkVolume(input: {id: "${volume}", name: "stolen"}) { id } }`,
  'Mutation.deleteNetworkVolume': ({ volume }) => `mutation { deleteNetworkVolume(input: {id: "${volume}"}) }`,
};

/** The code that clients look for instead of NOT_FOUND. */
const CODES: Record<string, string> = { 'Mutation.deleteCluster': 'Cluster not found' };

/** Operations about the calling user. */
const ABOUT_ONESELF = [
  'Query.myself',
  'Query.podTemplates',
  'Mutation.deleteTemplate',
  'Mutation.updateUserSettings',
  ...[
    'id',
    'email',
    'pubKey',
    'clientBalance',
    'currentSpendPerHr',
    'podTemplates',
    'endpoints',
    'pods',
    'clusters',
  ].map((field) => `User.${field}`),
  ...['networkVolumes', 'containerRegistryCreds', 'secrets', 'globalStoreBuckets'].map((field) => `User.${field}`),
];
/** Fields of the user that are always null. */
const ALWAYS_NULL = [
  'spendLimit',
  'authId',
  'notifyPodsStale',
  'notifyPodsGeneral',
  'notifyLowBalance',
  'notifyOther',
].concat(
  ['creditAlertThreshold', 'multiFactorEnabled', 'signedTermsOfService', 'underBalance', 'minBalance', 'hostBalance'],
  ['machineQuota', 'referralEarned', 'templateEarned', 'maxServerlessConcurrency'],
);

const EVERYTHING = `{
  podTemplates { id name env { key value } }
  myself {
    id pubKey
    podTemplates { id name }
    endpoints { id name userId templateId template { id } networkVolumeIds { networkVolumeId } env { key value } }
    pods { id name env }
    clusters { id name pods { id env } }
    networkVolumes { id name }
    containerRegistryCreds { id name }
    secrets { id name description usedBy { id name } }
  }
}`;

beforeAll(async () => {
  const gpu: GpuStock = { pool: 'ADA_24', gpuTypeId: RTX_4090, dataCenterId: 'LOCAL-1', total: 8, free: 8 };
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [gpu], cpus: 8, memoryBytes: 2 ** 36 }) } });
  alice = await makeRecords(rest.alice, 'alice');
  bob = await makeRecords(rest.bob, 'robert');
});
afterAll(() => rest.close());

/** Every user's records have the same names; only the values differ. */
async function makeRecords(person: Person, mark: string): Promise<Records> {
  const make = async (mutation: string): Promise<string> => {
    const { data, errors } = await rest.graphql(`mutation { made: ${mutation} { id } }`, { key: person.key });
    expect(errors).toBeUndefined();
    return data.made.id;
  };
  const env = `[{key: "MARK", value: "${mark} {{ RUNPOD_SECRET_s }}"}]`;
  const template = await make(
    `saveTemplate(input: {name: "same", imageName: "i", containerDiskInGb: 1, volumeInGb: 0, isServerless: true, env: ${env}})`,
  );
  const volume = await make('createNetworkVolume(input: {name: "same", size: 10, dataCenterId: "LOCAL-1"})');
  return {
    person,
    template,
    volume,
    secret: await make(`secretCreate(input: {name: "s", value: "${mark}", description: "${mark}"})`),
    registry: await make('saveRegistryAuth(input: {name: "same", username: "u", password: "p"})'),
    endpoint: await make(
      `saveEndpoint(input: {name: "same", templateId: "${template}", gpuIds: "ADA_24", networkVolumeId: "${volume}"})`,
    ),
    pod: await make(
      `podFindAndDeployOnDemand(input: {name: "same", imageName: "i", gpuTypeId: "${RTX_4090}", env: ${env}})`,
    ),
    cluster: await make(
      `createCluster(input: {clusterName: "same", type: TRAINING, imageName: "i", gpuTypeId: "${RTX_4090}", podCount: 2, env: ${env}})`,
    ),
  };
}

const ask = (query: string, { person }: Records): Promise<GraphqlAnswer> => rest.graphql(query, { key: person.key });

test('the table names every operation', () => {
  const schema = buildSchema(readFileSync(new URL('../../api/schema.graphql', import.meta.url), 'utf8'));
  const operations = ['Query', 'Mutation', 'User'].flatMap((name) => {
    const type = schema.getType(name);
    return isObjectType(type) ? Object.keys(type.getFields()).map((field) => `${name}.${field}`) : [];
  });
  const named = [
    ...Object.keys(BY_RECORD),
    ...ABOUT_ONESELF,
    ...ALWAYS_NULL.map((field) => `User.${field}`),
    ...[...CATALOGUE, ...EMPTY].map((field) => `Query.${field}`),
    ...MAKING.map((field) => `Mutation.${field}`),
  ];
  expect(named.toSorted()).toEqual(operations.toSorted());
});

test('each user sees only their own records, even with equal names', async () => {
  for (const [one, other] of [
    [alice, bob],
    [bob, alice],
  ] as const) {
    const { data, errors } = await ask(EVERYTHING, one);
    expect(errors).toBeUndefined();
    const text = JSON.stringify(data);
    for (const id of Object.values(one).filter((value) => typeof value === 'string')) expect(text).toContain(id);
    for (const id of Object.values(other).filter((value) => typeof value === 'string')) expect(text).not.toContain(id);
    expect(text).not.toContain(other.person.userId);
    for (const name of one === alice ? ['robert', '"bob"'] : ['alice']) expect(text).not.toContain(name);
  }
});

/** docs/interface/graphql.md, "Requests", "Errors" and "Other accounts" */
describe.each(Object.keys(BY_RECORD))('%s', (name) => {
  test('another user’s record looks exactly like a missing one and stays unchanged', async () => {
    const before = await ask(EVERYTHING, alice);
    const missing = Object.fromEntries(Object.keys(alice).map((field) => [field, 'missing'])) as unknown as Records;
    const foreign = await ask(BY_RECORD[name]!(alice), bob);
    if (name === 'User.cluster') expect(foreign).toEqual({ data: { myself: { cluster: null } } });
    else expect(foreign.errors).toMatchObject([{ extensions: { code: CODES[name] ?? 'NOT_FOUND' } }]);
    const nowhere = await ask(BY_RECORD[name]!(missing), bob);
    // Only positions in the text differ, because ids differ in length.
    expect(strip(foreign)).toEqual(strip(nowhere));
    expect(await ask(EVERYTHING, alice)).toEqual(before);
  });

  test('without a key nothing can be read', async () => {
    const { data, errors } = await rest.graphql(BY_RECORD[name]!(alice));
    if (name.startsWith('User.')) expect(data).toEqual({ myself: null });
    else expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  });

  test('a key without the area is FORBIDDEN, whether or not the record exists', async () => {
    const key = await rest.keyFor(alice.person, 'catalog:read');
    const { errors } = await rest.graphql(BY_RECORD[name]!(alice), { key });
    expect(errors).toMatchObject([{ message: 'access denied', extensions: { code: 'FORBIDDEN' } }]);
  });
});

test('a new record cannot refer to another user’s records', async () => {
  const { volume, registry, template } = alice;
  for (const mutation of [
    `saveTemplate(input: {name: "x", imageName: "i", containerDiskInGb: 1, volumeInGb: 0, containerRegistryAuthId: "${registry}"})`,
    `saveEndpoint(input: {name: "x", templateId: "${template}", gpuIds: "ADA_24"})`,
    `saveEndpoint(input: {name: "x", templateId: "${bob.template}", gpuIds: "ADA_24", networkVolumeId: "${volume}"})`,
    `updateEndpointTemplate(input: {endpointId: "${bob.endpoint}", templateId: "${template}"})`,
    `podFindAndDeployOnDemand(input: {imageName: "i", gpuTypeId: "${RTX_4090}", networkVolumeId: "${volume}"})`,
    `podFindAndDeployOnDemand(input: {imageName: "i", gpuTypeId: "${RTX_4090}", containerRegistryAuthId: "${registry}"})`,
    `podFindAndDeployOnDemand(input: {gpuTypeId: "${RTX_4090}", templateId: "${template}"})`,
    ...[`networkVolumeId: "${volume}"`, `containerRegistryAuthId: "${registry}"`].map(
      (field) =>
        `createCluster(input: {type: TRAINING, imageName: "i", gpuTypeId: "${RTX_4090}", podCount: 2, ${field}})`,
    ),
  ]) {
    const { errors } = await ask(`mutation { ${mutation} { id } }`, bob);
    expect(errors, mutation).toMatchObject([
      { message: expect.stringMatching(/there is no /), extensions: { code: 'BAD_USER_INPUT' } },
    ]);
  }
});

test('without a key nothing can be created', async () => {
  for (const mutation of [
    'secretCreate(input: {name: "x", value: "y"})',
    'saveTemplate(input: {name: "x", imageName: "i", containerDiskInGb: 1, volumeInGb: 0})',
    'saveRegistryAuth(input: {name: "x", username: "u", password: "p"})',
    'createNetworkVolume(input: {name: "x", size: 10, dataCenterId: "LOCAL-1"})',
    `podFindAndDeployOnDemand(input: {imageName: "i", gpuTypeId: "${RTX_4090}"})`,
    'deployCpuPod(input: {imageName: "i", instanceId: "cpu3c-2-4"})',
    `createCluster(input: {type: TRAINING, imageName: "i", gpuTypeId: "${RTX_4090}", podCount: 2})`,
    'updateUserSettings(input: {pubKey: "x"})',
  ]) {
    const { errors } = await rest.graphql(`mutation { ${mutation} { id } }`);
    expect(errors, mutation).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  }
});

function strip({ data, errors }: GraphqlAnswer) {
  return { data, errors: errors?.map(({ locations: _, ...error }) => error) };
}
