import { documents, GPU, POD_FIELDS } from './client-document.ts';

const ENDPOINT_READ_BACK = `id name templateId gpuIds instanceIds computeType networkVolumeId
  networkVolumeIds { networkVolumeId dataCenterId } locations idleTimeout scalerType scalerValue workersMin workersMax gpuCount
  minCudaVersion executionTimeoutMs flashBootType modelReferences`;
const TEMPLATE_FIELDS = `id name imageName isServerless isPublic isRunpod category containerDiskInGb volumeInGb volumeMountPath`;

const first = documents('runpodctl', {
  '073fd04': [
    `query myPods { myself { pods { ${POD_FIELDS.replace(/runtime.*/s, '')} machine { gpuDisplayName } } } }`,
    [
      `mutation createPod($input: PodFindAndDeployOnDemandInput!)
         { podFindAndDeployOnDemand(input: $input) { id costPerHr desiredStatus lastStatusChange } }`,
      {
        input: {
          cloudType: 'SECURE',
          containerDiskInGb: 20,
          deployCost: 1.5,
          dockerArgs: '',
          env: [{ key: 'A', value: '1' }],
          gpuCount: 1,
          gpuTypeId: GPU,
          imageName: 'i:1',
          minMemoryInGb: 20,
          minVcpuCount: 1,
          name: 'cli',
          ports: '',
          templateId: '',
          volumeInGb: 1,
          volumeMountPath: '/runpod',
        },
      },
    ],
    [
      `mutation podResume($podId: String!) { podResume(input: {podId: $podId})
        { id costPerHr desiredStatus lastStatusChange } }`,
      { podId: '<stopped pod>' },
    ],
    [
      `mutation Mutation($podId: String!, $bidPerGpu: Float!) { podBidResume(input: {podId: $podId, bidPerGpu: $bidPerGpu})
        { id costPerHr desiredStatus lastStatusChange } }`,
      { podId: '<stopped pod>', bidPerGpu: 5 },
    ],
  ],
  '1a68d2a': [
    [
      `query LowestPrice($input: GpuLowestPriceInput!) { gpuTypes { lowestPrice(input: $input)
         { gpuName gpuTypeId minimumBidPrice uninterruptablePrice minMemory minVcpu } memoryInGb } }`,
      { input: { gpuCount: 1, secureCloud: null } },
    ],
  ],
  '1fd7c0c': [
    [
      `mutation createPod($input: PodFindAndDeployOnDemandInput!) { podFindAndDeployOnDemand(input: $input)
         { id name imageName desiredStatus costPerHr containerDiskInGb volumeInGb volumeMountPath gpuCount memoryInGb vcpuCount
           ports lastStatusChange env machine { gpuDisplayName location } } }`,
      {
        input: {
          cloudType: 'SECURE',
          containerDiskInGb: 20,
          gpuCount: 1,
          gpuTypeId: GPU,
          templateId: 'runpod-torch-v280',
          startSsh: true,
          supportPublicIp: true,
          minCudaVersion: '12.8',
          dockerArgs: 'sleep 1',
          countryCode: 'US',
          compliance: ['GDPR'],
          dataCenterId: 'EU-RO-1',
        },
      },
    ],
  ],
  '02d2ed6': [
    [
      `mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { ${ENDPOINT_READ_BACK} } }`,
      {
        input: {
          name: 'gpu',
          template: { name: '<name>', imageName: 'i:1', containerDiskInGb: 20, dockerArgs: '', env: [] },
          gpuIds: 'ADA_24',
          gpuCount: 1,
          workersMin: 0,
          workersMax: 3,
          networkVolumeIds: [],
          minCudaVersion: '12.4',
          flashBootType: 'FLASHBOOT',
          modelReferences: ['https://huggingface.co/org/model:main'],
        },
      },
    ],
    [
      `mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { ${ENDPOINT_READ_BACK} } }`,
      { input: { name: 'cpu', templateId: '<template>', instanceIds: ['cpu3c-2-4'], workersMin: 0, workersMax: 3 } },
    ],
    [
      `mutation Mutation($input: UpdateEndpointTemplateInput) { updateEndpointTemplate(input: $input) { id templateId } }`,
      { input: { endpointId: '<endpoint>', templateId: '<template>' } },
    ],
  ],
  '1d018a2': [
    `query { gpuTypes { id displayName memoryInGb secureCloud communityCloud securePrice communityPrice } }`,
    `query { serverlessGpuPools { id gpuTypeIds } }`,
    `query { dataCenters { id name location gpuAvailability { gpuTypeId displayName stockStatus } } }`,
    `query { myself { id email clientBalance currentSpendPerHr spendLimit notifyPodsStale notifyPodsGeneral notifyLowBalance } }`,
  ],
  '0204375': [
    [
      `query PodTemplates($input: PodTemplateInput) { podTemplates(input: $input) { ${TEMPLATE_FIELDS} } }`,
      { input: { isRunpod: true } },
    ],
    [
      `query GetTemplate($id: String!) { podTemplate(id: $id)
         { ${TEMPLATE_FIELDS} ports env { key value } containerRegistryAuthId readme } }`,
      { id: 'runpod-torch-v280' },
    ],
  ],
});

const MODEL = `id owner provider name status createdAt updatedAt
  users { userId credentialType credentialReference status updatedAt } versions { hash status metadata createdAt updatedAt }`;
const models = documents('runpodctl', {
  '0eac229': [
    `query myModels { myModels { ${MODEL} } }`,
    `query models { models { ${MODEL} } }`,
    [
      `query myModel($owner: String!, $name: String!) { myModel(owner: $owner, name: $name) { ${MODEL} } }`,
      { owner: 'org', name: 'model' },
    ],
  ],
  '71189101': [
    `query { myself { podTemplates { id readme } } }`,
    [
      `query GetTemplate($id: String!) { podTemplate(id: $id) { ${TEMPLATE_FIELDS} ports portsConfig { port name } env { key value }
         containerRegistryAuthId readme } }`,
      { id: 'runpod-torch-v280' },
    ],
  ],
  '71295871': [
    [
      `query EndpointConfig($id: String!) { myself { endpoint(id: $id) { id name templateId gpuIds gpuCount instanceIds workersMin
         workersMax locations networkVolumeId networkVolumeIds { networkVolumeId } idleTimeout scalerType scalerValue
         executionTimeoutMs minCudaVersion flashBootType } } }`,
      { id: '<endpoint>' },
    ],
  ],
});

const LISTING = `id title repoName repoOwner repoOwnerAvatarUrl description category type tags stars views deploys openIssues watchers
  language createdAt updatedAt listedRelease { id name tagName body readme branch license config deploys iconUrl authorName createdAt
  releasedAt updatedAt build { imageName } }`;
const hub = documents('runpodctl', {
  '3317b00': [
    [
      `query Listings($input: ListingsInput!) { listings(input: $input) { id title repoName repoOwner description category type tags
         stars views deploys language createdAt updatedAt } }`,
      {
        input: {
          searchQuery: 'vllm',
          category: 'ai',
          owner: 'runpod',
          orderBy: 'stars',
          orderDirection: 'desc',
          limit: 10,
          offset: 10,
        },
      },
    ],
    [`query GetListing($id: String!) { listing(id: $id) { ${LISTING} } }`, { id: 'l' }],
    [
      `query GetListingFromRepo($repoOwner: String!, $repoName: String!)
         { listingFromRepo(repoOwner: $repoOwner, repoName: $repoName) { ${LISTING} } }`,
      { repoOwner: 'runpod', repoName: 'worker' },
    ],
  ],
});

export const RUNPODCTL = [...first, ...hub, ...models];

/** Operations on the repository of models, which is always empty. */
export const MODEL_MUTATIONS = documents('runpodctl', {
  '0eac229': [
    `mutation addModelToRepo($input: AddModelToRepoInput!) { addModelToRepo(input: $input) { success message } }`,
    `mutation removeModelFromRepo($input: RemoveModelFromRepoInput!) { removeModelFromRepo(input: $input) { success message } }`,
    `mutation createModelRepoUpload($input: CreateModelRepoUploadInput!) { createModelRepoUpload(input: $input) { success message } }`,
  ],
});
