import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuStock } from '../../src/domain/catalog/capacity-source.ts';
import { type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * Requests of public clients, in their manner: a Python SDK writes every value into the document, with enum literals and without names of
 * operations; command line tools and JavaScript send one typed `$input`; infrastructure tools mix variables into object
 * literals and read back every field that they manage. The documents are our own.
 */
let rest: RestFixture;
const RTX_4090 = 'NVIDIA GeForce RTX 4090';

beforeAll(async () => {
  const gpu: GpuStock = { pool: 'ADA_24', gpuTypeId: RTX_4090, dataCenterId: 'LOCAL-1', total: 8, free: 8 };
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [gpu], cpus: 8, memoryBytes: 2 ** 36 }) } });
});
afterAll(() => rest.close());

/** Fails on anything but 200 without `errors`, like the clients. */
async function send(query: string, variables?: object, bearer = false) {
  const response = await rest.callGraphql({
    method: 'POST',
    url: bearer ? '/graphql' : `/graphql?api_key=${rest.alice.key}`,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'client/1.0',
      ...(bearer ? { authorization: `Bearer ${rest.alice.key}` } : {}),
    },
    payload: JSON.stringify(variables === undefined ? { query } : { query, variables }),
  });
  expect(response.statusCode, response.body).toBe(200);
  const { data, errors } = response.json();
  expect(errors).toBeUndefined();
  return data;
}

/** docs/interface/graphql.md, "Templates" and "Secrets" */
describe('documents of the interface description', () => {
  test('create, modify and delete a template', async () => {
    const created = await send(
      'mutation { saveTemplate(input: { containerDiskInGb: 5, dockerArgs: "python3 -m http.server 8080", env: [ { key: "key1", value: "value1" }, { key: "key2", value: "value2" } ], imageName: "ubuntu:latest", name: "Generated Template", ports: "8888/http,22/tcp", readme: "## Hello, World!", volumeInGb: 15, volumeMountPath: "/workspace" }) { containerDiskInGb dockerArgs env { key value } id imageName name ports readme volumeInGb volumeMountPath } }',
    );
    const { id, ...fields } = created.saveTemplate;
    expect(id).toMatch(/./);
    expect(fields).toEqual({
      containerDiskInGb: 5,
      dockerArgs: 'python3 -m http.server 8080',
      env: [
        { key: 'key1', value: 'value1' },
        { key: 'key2', value: 'value2' },
      ],
      imageName: 'ubuntu:latest',
      name: 'Generated Template',
      ports: '8888/http,22/tcp',
      readme: '## Hello, World!',
      volumeInGb: 15,
      volumeMountPath: '/workspace',
    });
    const modified = await send(
      `mutation { saveTemplate(input: { id: "${id}", containerDiskInGb: 5, imageName: "ubuntu:latest", name: "Generated Template", volumeInGb: 15, readme: "## Goodbye, World!" }) { id readme } }`,
    );
    expect(modified.saveTemplate).toEqual({ id, readme: '## Goodbye, World!' });
    expect(await send('mutation { deleteTemplate(templateName: "Generated Template") }')).toEqual({
      deleteTemplate: null,
    });
  });

  test('create a serverless template', async () => {
    const { saveTemplate } = await send(
      'mutation { saveTemplate(input: { containerDiskInGb: 5, dockerArgs: "python handler.py", env: [ { key: "key1", value: "value1" } ], imageName: "runpod/serverless-hello-world:latest", isServerless: true, name: "Generated Serverless Template", readme: "## Hello, World!", volumeInGb: 0 }) { containerDiskInGb dockerArgs env { key value } id imageName isServerless name readme } }',
    );
    expect(saveTemplate).toMatchObject({ isServerless: true, env: [{ key: 'key1', value: 'value1' }] });
  });

  test('create and delete a secret', async () => {
    const { secretCreate } = await send(
      'mutation { secretCreate(input: { value: "secretValue", name: "hunter2" }) { id name description } }',
    );
    expect(secretCreate).toEqual({ id: expect.any(String), name: 'hunter2', description: null });
    expect(await send(`mutation { secretDelete(id: "${secretCreate.id}") }`)).toEqual({ secretDelete: null });
  });
});

/** docs/interface/graphql.md, "Pods", "Endpoints" and "Catalogue, volumes, registries and account" */
describe('a Python SDK, with values inside the document', () => {
  test('deploys from a template, reads, stops, resumes and terminates a pod', async () => {
    const { podFindAndDeployOnDemand: pod } = await send(`
    mutation {
      podFindAndDeployOnDemand(
        input: {
          name: "test", imageName: "runpod/stack", cloudType: ALL, startSsh: true, gpuTypeId: "${RTX_4090}", gpuCount: 1,
          supportPublicIp: true, volumeInGb: 20, containerDiskInGb: 10, minVcpuCount: 1, minMemoryInGb: 1,
          dockerArgs: "", ports: "8888/http,666/tcp", volumeMountPath: "/runpod-volume",
          env: [{ key: "A", value: "b" }], allowedCudaVersions: ["12.0", "12.1"]
        }
      ) { id desiredStatus imageName env machineId machine { podHostId } }
    }`);
    expect(pod).toMatchObject({ desiredStatus: 'RUNNING', imageName: 'runpod/stack', env: ['A=b'] });
    const fields = `id containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName lastStatusChange machineId
      memoryInGb name podType ports uptimeSeconds vcpuCount volumeInGb volumeMountPath machine { gpuDisplayName }
      runtime { ports { ip isIpPublic privatePort publicPort type } }`;
    const { pod: read } = await send(`query pod { pod(input: {podId: "${pod.id}"}) { ${fields} } }`);
    expect(read).toMatchObject({
      id: pod.id,
      name: 'test',
      ports: '8888/http,666/tcp',
      volumeMountPath: '/runpod-volume',
    });
    const { myself } = await send(`query myPods { myself { pods { ${fields} } } }`);
    expect(myself.pods).toEqual([read]);
    expect(await send(`mutation { podStop(input: { podId: "${pod.id}" }) { id desiredStatus } }`)).toEqual({
      podStop: { id: pod.id, desiredStatus: 'EXITED' },
    });
    await send(
      `mutation { podResume(input: { podId: "${pod.id}", gpuCount: 1 }) { id desiredStatus imageName env machineId machine { podHostId } } }`,
    );
    expect(await send(`mutation { podTerminate(input: { podId: "${pod.id}" }) }`)).toEqual({ podTerminate: null });
  });

  test('creates a template and an endpoint from it, changes its template, lists endpoints', async () => {
    const template = async (name: string) =>
      (
        await send(`
        mutation {
          saveTemplate(
            input: { name: "${name}", imageName: "i:1", dockerArgs: "", containerDiskInGb: 10, volumeInGb: 0,
              volumeMountPath: "/workspace", ports: "", env: [], isServerless: true, startSsh: true, isPublic: false, readme: "" }
          ) { id name imageName dockerArgs containerDiskInGb volumeInGb volumeMountPath ports env { key value } isServerless }
        }`)
      ).saveTemplate;
    const first = await template('python-1');
    expect(first).toEqual({
      id: first.id,
      name: 'python-1',
      imageName: 'i:1',
      dockerArgs: '',
      containerDiskInGb: 10,
      volumeInGb: 0,
      volumeMountPath: '/workspace',
      ports: '',
      env: [],
      isServerless: true,
    });
    const { saveEndpoint } = await send(`
    mutation {
      saveEndpoint(
        input: { name: "python -fb", templateId: "${first.id}", gpuIds: "ADA_24", networkVolumeId: "", locations: "",
          idleTimeout: 5, scalerType: "QUEUE_DELAY", scalerValue: 4, workersMin: 0, workersMax: 3, gpuCount: 1,
          allowedCudaVersions: "12.1,12.2" }
      ) { id name templateId gpuIds networkVolumeId locations idleTimeout scalerType scalerValue workersMin workersMax allowedCudaVersions }
    }`);
    expect(saveEndpoint).toMatchObject({ templateId: first.id, idleTimeout: 5, allowedCudaVersions: '12.1,12.2' });
    const second = await template('python-2');
    expect(
      await send(
        `mutation { updateEndpointTemplate(input: {templateId: "${second.id}", endpointId: "${saveEndpoint.id}"}) { id templateId } }`,
      ),
    ).toEqual({ updateEndpointTemplate: { id: saveEndpoint.id, templateId: second.id } });
    const { myself } = await send(`
    query Query { myself { endpoints {
      aiKey gpuIds id idleTimeout name networkVolumeId locations scalerType scalerValue templateId type userId version workersMax
      workersMin workersStandby gpuCount env { key value } createdAt networkVolume { id dataCenterId } } } }`);
    expect(myself.endpoints).toMatchObject([
      { id: saveEndpoint.id, version: 1, templateId: second.id, networkVolume: null },
    ]);
    await send(`mutation { deleteEndpoint(id: "${saveEndpoint.id}") }`);
  });

  test('reads GPUs and its own user, and updates its key and registry credentials', async () => {
    const { gpuTypes } = await send(`
    query GpuTypes { gpuTypes(input: {id: "${RTX_4090}"}) {
      maxGpuCount id displayName manufacturer memoryInGb cudaCores secureCloud communityCloud securePrice communityPrice
      oneMonthPrice threeMonthPrice oneWeekPrice communitySpotPrice secureSpotPrice
      lowestPrice(input: {gpuCount: 1}) { minimumBidPrice uninterruptablePrice } } }`);
    expect(gpuTypes).toHaveLength(1);
    expect(await send('mutation { updateUserSettings(input: {pubKey: "ssh-ed25519 AAAA"}) { id pubKey } }')).toEqual({
      updateUserSettings: { id: rest.alice.userId, pubKey: 'ssh-ed25519 AAAA' },
    });
    const { myself } = await send('query myself { myself { id pubKey networkVolumes { id name size dataCenterId } } }');
    expect(myself).toEqual({ id: rest.alice.userId, pubKey: 'ssh-ed25519 AAAA', networkVolumes: [] });
    const { saveRegistryAuth } = await send(
      'mutation SaveRegistryAuth { saveRegistryAuth(input: {name: "py", username: "u", password: "p"}) { id name } }',
    );
    await send(
      `mutation UpdateRegistryAuth { updateRegistryAuth(input: {id: "${saveRegistryAuth.id}", username: "u", password: "q"}) { id name } }`,
    );
    await send(`mutation DeleteRegistryAuth { deleteRegistryAuth(registryAuthId: "${saveRegistryAuth.id}") }`);
  });
});

/** docs/interface/graphql.md, "Pods" */
describe('command line tools, with one typed input', () => {
  test('find the cheapest GPU, create a pod with it, and remove it', async () => {
    const { gpuTypes } = await send(
      `query LowestPrice($input: GpuLowestPriceInput!) { gpuTypes {
         lowestPrice(input: $input) { gpuName gpuTypeId minimumBidPrice uninterruptablePrice minMemory minVcpu stockStatus }
         id displayName memoryInGb securePrice communityPrice secureCloud } }`,
      { input: { gpuCount: 1, minMemoryInGb: 0, minVcpuCount: 0, secureCloud: null, totalDisk: 0 } },
      true,
    );
    expect(gpuTypes.find(({ id }: { id: string }) => id === RTX_4090).lowestPrice.stockStatus).toBe('High');
    const { podFindAndDeployOnDemand: pod } = await send(
      `mutation createPod($input: PodFindAndDeployOnDemandInput!) {
         podFindAndDeployOnDemand(input: $input) { id costPerHr desiredStatus lastStatusChange } }`,
      {
        input: {
          cloudType: 'COMMUNITY',
          containerDiskInGb: 20,
          dockerArgs: '',
          env: [{ key: 'A', value: '1' }],
          gpuCount: 1,
          gpuTypeId: RTX_4090,
          imageName: 'i:1',
          minMemoryInGb: 20,
          minVcpuCount: 1,
          name: 'cli',
          ports: '',
          startSsh: false,
          supportPublicIp: true,
          templateId: '',
          volumeInGb: 1,
          volumeMountPath: '/runpod',
          networkVolumeId: '',
        },
      },
      true,
    );
    expect(pod).toMatchObject({ desiredStatus: 'RUNNING', costPerHr: expect.any(Number) });
    await send(
      'mutation stopPod($podId: String!) { podStop(input: {podId: $podId}) { id desiredStatus lastStatusChange } }',
      { podId: pod.id },
      true,
    );
    await send(
      'mutation terminatePod($podId: String!) { podTerminate(input: {podId: $podId}) }',
      { podId: pod.id },
      true,
    );
    const { myself } = await send(
      'query userDetails { myself { id email clientBalance currentSpendPerHr pods { id } } }',
      undefined,
      true,
    );
    expect(myself).toMatchObject({ clientBalance: 0, pods: [] });
  });
});

/** docs/interface/graphql.md, "Endpoints" */
describe('a JavaScript deployment tool, with templates inside endpoints', () => {
  test('saves, reads back, saves again with the id, and deletes', async () => {
    const selection = `id name templateId gpuIds gpuCount networkVolumeId networkVolumeIds { networkVolumeId } locations idleTimeout
      scalerType scalerValue workersMin workersMax workersPFBTarget flashBootType type executionTimeoutMs version instanceIds
      minCudaVersion env { key value } template { id imageName containerDiskInGb dockerArgs env { key value } startScript ports readme }`;
    const save = `mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { ${selection} } }`;
    const input = {
      name: 'deployed',
      gpuIds: 'ADA_24',
      gpuCount: 1,
      instanceIds: null,
      networkVolumeId: null,
      networkVolumeIds: [],
      locations: 'LOCAL-1',
      idleTimeout: 60,
      scalerType: 'REQUEST_COUNT',
      scalerValue: 1,
      workersMin: 0,
      workersMax: 2,
      flashBootType: 'FLASHBOOT',
      type: 'QB',
      executionTimeoutMs: 0,
      template: {
        name: 'deployed-template',
        imageName: 'worker:1',
        containerDiskInGb: 64,
        dockerArgs: '',
        env: [{ key: 'MODE', value: 'live' }],
        startScript: '',
        ports: '',
        readme: '',
      },
    };
    const first = (await send(save, { input })).saveEndpoint;
    expect(first).toMatchObject({ flashBootType: 'FLASHBOOT', type: 'QB', executionTimeoutMs: 0, version: 1 });
    expect(first.template).toMatchObject({ imageName: 'worker:1', env: [{ key: 'MODE', value: 'live' }] });
    const change = { ...input, id: first.id, template: { ...input.template, imageName: 'worker:2' } };
    const second = (await send(save, { input: change })).saveEndpoint;
    expect(second).toEqual({ ...first, version: 2, template: { ...first.template, imageName: 'worker:2' } });
    const { myself } = await send(`query ($id: String!) { myself { endpoint(id: $id) { ${selection} } } }`, {
      id: first.id,
    });
    expect(myself.endpoint).toEqual(second);
    await send('mutation deleteEndpoint($id: String!) { deleteEndpoint(id: $id) }', { id: first.id });
  });
});

/** docs/interface/graphql.md, "Requests", "Templates" and "Catalogue, volumes, registries and account" */
describe('an infrastructure tool, with variables inside object literals', () => {
  test('keeps a template, a secret, a volume and credentials as declared', async () => {
    const SAVE = `mutation SaveTemplate(
      $id: String, $name: String!, $image: String!, $disk: Int!, $volume: Int!, $env: [EnvironmentVariableInput!], $ports: String,
      $registry: String, $serverless: Boolean
    ) {
      saveTemplate(input: {
        id: $id, name: $name, imageName: $image, containerDiskInGb: $disk, volumeInGb: $volume, env: $env, ports: $ports,
        containerRegistryAuthId: $registry, isServerless: $serverless, dockerArgs: "serve", category: "NVIDIA"
      }) { ...Template }
    }
    fragment Template on PodTemplate {
      id name imageName isServerless isPublic isRunpod category ports portsConfig { port name } env { key value } dockerArgs
      containerDiskInGb containerRegistryAuthId volumeInGb volumeMountPath readme startJupyter startSsh startScript advancedStart
      createdAt
    }`;
    const registry = (
      await send('mutation ($i: SaveRegistryAuthInput!) { saveRegistryAuth(input: $i) { id } }', {
        i: { name: 'infra', username: 'u', password: 'p' },
      })
    ).saveRegistryAuth.id;
    const declared = { name: 'infra', image: 'i:1', disk: 5, volume: 0, ports: '80/http', registry, serverless: true };
    const made = (await send(SAVE, { ...declared, env: [{ key: 'A', value: '1' }] })).saveTemplate;
    expect(made).toMatchObject({ imageName: 'i:1', containerRegistryAuthId: registry, dockerArgs: 'serve' });
    const again = (await send(SAVE, { ...declared, id: made.id, image: 'i:2' })).saveTemplate;
    expect(again).toEqual({ ...made, imageName: 'i:2', env: [] });
    const { podTemplate } = await send('query ($id: String!) { podTemplate(id: $id) { id name env { key value } } }', {
      id: made.id,
    });
    expect(podTemplate).toEqual({ id: made.id, name: 'infra', env: [] });
    const secret = (
      await send(
        'mutation ($n: String!, $v: String!) { secretCreate(input: {name: $n, value: $v, description: ""}) { id } }',
        {
          n: 'infra',
          v: 'x',
        },
      )
    ).secretCreate;
    const volume = (
      await send(
        'mutation ($i: CreateNetworkVolumeInput!) { createNetworkVolume(input: $i) { id name size dataCenterId } }',
        {
          i: { name: 'infra', size: 10, dataCenterId: 'EU-RO-1' },
        },
      )
    ).createNetworkVolume;
    await send('mutation ($id: ID!) { secretDelete(id: $id) }', { id: secret.id });
    await send('mutation ($i: DeleteNetworkVolumeInput!) { deleteNetworkVolume(input: $i) }', { i: { id: volume.id } });
    await send('mutation ($name: String!) { deleteTemplate(templateName: $name) }', { name: 'infra' });
    await send('mutation ($id: String!) { deleteRegistryAuth(registryAuthId: $id) }', { id: registry });
  });
});
