import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GpuStock } from '../../src/domain/catalog/capacity-source.ts';
import { ModelHub } from '../model-hub.ts';
import { type RestFixture, startRestApp } from '../rest-app.ts';
import type { ClientDocument } from './client-document.ts';
import { DOCUMENTS } from './client-documents.ts';

/** docs/interface/graphql.md, "Clients": each document of a public client is answered without an error. */
const RTX_4090 = 'NVIDIA GeForce RTX 4090';

let hub: ModelHub;
let rest: RestFixture;
beforeAll(async () => {
  const at = (dataCenterId: string, cudaVersion: string): GpuStock => ({
    pool: 'ADA_24',
    gpuTypeId: RTX_4090,
    dataCenterId,
    total: 1_000,
    free: 1_000,
    cudaVersion,
  });
  const gpus = [at('LOCAL-1', '12.8'), at('EU-RO-1', '13.0')];
  hub = await ModelHub.start(['org/model']);
  rest = await startRestApp({
    hubUrl: hub.url,
    capacity: { read: async () => ({ gpus, cpus: 64, memoryBytes: 2 ** 38 }) },
  });
});
afterAll(async () => {
  await rest.close();
  await hub.close();
});

async function send({ query, variables }: Pick<ClientDocument, 'query' | 'variables'>) {
  const { data, errors } = await rest.graphql(query, { key: rest.alice.key, ...(variables && { variables }) });
  expect(errors, query).toBeUndefined();
  return data;
}

let count = 0;
const make = async (mutation: string) => (await send({ query: `mutation { made: ${mutation} { id } }` })).made.id;
/** Records for the words in `<…>` of a document, made for it. */
const RECORDS: Record<string, () => Promise<string>> = {
  name: async () => `name_${count++}`,
  pod: () => make(`podFindAndDeployOnDemand(input: {imageName: "i:1", gpuTypeId: "${RTX_4090}"})`),
  cluster: () =>
    make(`createCluster(input: {type: TRAINING, imageName: "i:1", gpuTypeId: "${RTX_4090}", podCount: 2})`),
  'stopped pod': async () => {
    const id = await RECORDS.pod!();
    await send({ query: `mutation { podStop(input: {podId: "${id}"}) { id } }` });
    return id;
  },
  template: () =>
    make(
      `saveTemplate(input: {name: "t${count++}", imageName: "i:1", containerDiskInGb: 5, volumeInGb: 0, isServerless: true})`,
    ),
  endpoint: async () =>
    make(`saveEndpoint(input: {name: "e", templateId: "${await RECORDS.template!()}", gpuIds: "ADA_24"})`),
  volume: () => make('createNetworkVolume(input: {name: "v", size: 10, dataCenterId: "LOCAL-1"})'),
  registry: () => make(`saveRegistryAuth(input: {name: "r${count++}", username: "u", password: "p"})`),
  secret: () => make(`secretCreate(input: {name: "s${count++}", value: "v"})`),
};

async function withRecords(document: ClientDocument): Promise<Pick<ClientDocument, 'query' | 'variables'>> {
  let text = JSON.stringify({ query: document.query, variables: document.variables });
  for (const [whole, word] of text.matchAll(/<([a-z ]+)>/g)) text = text.replaceAll(whole, await RECORDS[word!]!());
  return JSON.parse(text);
}

const titled = (list: readonly ClientDocument[]) =>
  list.map((document) => [`${document.client} ${document.version}: ${document.query.slice(0, 60)}`, document] as const);

test.each(titled(DOCUMENTS))('%s', async (_, document) => {
  expect(await send(await withRecords(document))).not.toBeNull();
});
