import { type ClientDocument, documents, GPU, POD_FIELDS } from './client-document.ts';
import { CLUSTERS } from './cluster-documents.ts';
import { MODEL_MUTATIONS, RUNPODCTL } from './runpodctl-documents.ts';

const python = documents('runpod-python', {
  '6e0cec0': [
    `query myPods { myself { pods { ${POD_FIELDS}
       machine { gpuDisplayName gpuAvailable maintenanceStart maintenanceEnd maintenanceNote } } } }`,
    `query pod { pod(input: {podId: "<pod>"}) { ${POD_FIELDS}
       machine { gpuDisplayName gpuAvailable maintenanceStart maintenanceEnd maintenanceNote } } }`,
  ],
  '0080060': [
    // create_pod(gpu_type_id=…)
    `mutation { podFindAndDeployOnDemand(input: { name: "gpu", imageName: "i:1", cloudType: ALL, startSsh: true,
       gpuTypeId: "${GPU}", supportPublicIp: true, gpuCount: 1, volumeInGb: 0, minVcpuCount: 1, minMemoryInGb: 1,
       allowedCudaVersions: ["12.8"], dataCenterId: null, dockerArgs: "", countryCode: "US", containerDiskInGb: 10,
       ports: "8888/http,22/tcp", volumeMountPath: "/runpod-volume", env: [{ key: "A", value: "b" }], minDownload: 100,
       minUpload: 100 }) { id imageName env machineId machine { podHostId } } }`,
    // create_pod(instance_id=…)
    `mutation { deployCpuPod(input: { name: "cpu", imageName: "i:1", cloudType: ALL, startSsh: true, instanceId: "cpu3c-2-4",
       dataCenterId: null, containerDiskInGb: 10, volumeMountPath: "/runpod-volume", templateId: "runpod-ubuntu" })
       { id imageName env machineId machine { podHostId } } }`,
    `mutation { podStop(input: { podId: "<pod>" }) { id desiredStatus } }`,
    `mutation { podResume(input: { podId: "<stopped pod>", gpuCount: 1 })
       { id desiredStatus imageName env machineId machine { podHostId } } }`,
    `mutation { podTerminate(input: { podId: "<pod>" }) }`,
  ],
  '2b2a7f5': [
    `mutation { saveEndpoint(input: { name: "e", templateId: "<template>", gpuIds: "ADA_24", networkVolumeId: "", locations: "",
       idleTimeout: 5, scalerType: "QUEUE_DELAY", scalerValue: 4, workersMin: 0, workersMax: 3 })
       { id name templateId gpuIds networkVolumeId locations idleTimeout scalerType scalerValue workersMin workersMax } }`,
    // It declares a variable and never uses it.
    `mutation UpdateEndpointTemplate($input: UpdateEndpointTemplateInput)
       { updateEndpointTemplate(input: {templateId: "<template>", id: "<endpoint>"}) { id templateId } }`,
  ],
  '47a7c1e': [
    `query Query { myself { endpoints { aiKey gpuIds id idleTimeout name networkVolumeId locations scalerType scalerValue
       templateId type userId version workersMax workersMin workersStandby gpuCount env { key value } createdAt
       networkVolume { id dataCenterId } } } }`,
  ],
  a96a74a: [
    `query GpuTypes { gpuTypes { id displayName memoryInGb } }`,
    `query GpuTypes { gpuTypes(input: {id: "${GPU}"}) { maxGpuCount id displayName manufacturer memoryInGb cudaCores
       secureCloud communityCloud securePrice communityPrice oneMonthPrice threeMonthPrice oneWeekPrice communitySpotPrice
       secureSpotPrice lowestPrice(input: {gpuCount: 1}) { minimumBidPrice uninterruptablePrice } } }`,
  ],
  '0a45e62': [
    `mutation { saveTemplate(input: { name: "<name>", imageName: "i:1", dockerArgs: "", containerDiskInGb: 10, volumeInGb: 0,
       ports: "", env: [], isServerless: true, containerRegistryAuthId: "", startSsh: true, isPublic: false, readme: "" })
       { id name imageName dockerArgs containerDiskInGb volumeInGb volumeMountPath ports env { key value } isServerless } }`,
  ],
  '45fda50': [`query myself { myself { id pubKey networkVolumes { id name size dataCenterId } } }`],
  '294ecb1': [`mutation { updateUserSettings(input: { pubKey: "ssh-ed25519 AAAA" }) { id pubKey } }`],
  '19672db': [
    `mutation SaveRegistryAuth { saveRegistryAuth(input: {name: "<name>", username: "u", password: "p"}) { id name } }`,
    `mutation UpdateRegistryAuth { updateRegistryAuth(input: {id: "<registry>", username: "u", password: "q"}) { id name } }`,
    `mutation DeleteRegistryAuth { deleteRegistryAuth(registryAuthId: "<registry>") }`,
  ],
  '07d58d3': [
    [
      `mutation deployCpuPod($input: deployCpuPodInput!) { deployCpuPod(input: $input) { id desiredStatus } }`,
      { input: { name: 'task', imageName: 'i:1', instanceId: 'cpu3c-2-4', supportPublicIp: false } },
    ],
    [
      `mutation deployPod($input: PodFindAndDeployOnDemandInput)
         { podFindAndDeployOnDemand(input: $input) { id desiredStatus } }`,
      { input: { name: 'task', imageName: 'i:1', gpuTypeId: GPU, supportPublicIp: false } },
    ],
    [
      `mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input)
         { id name templateId gpuIds instanceIds workersMin workersMax idleTimeout aiKey } }`,
      { input: { name: 'app', templateId: '<template>', gpuIds: 'ADA_24', modelReferences: ['org/model'] } },
    ],
    [
      `mutation secretCreate($input: SecretCreateInput!) { secretCreate(input: $input) { id name } }`,
      { input: { name: '<name>', value: 'v' } },
    ],
    [`mutation secretDelete($id: ID!) { secretDelete(id: $id) }`, { id: '<secret>' }],
  ],
  '411dda5': [
    [
      `query CpuStock($cpuFlavorInput: CpuFlavorInput, $specificsInput: SpecificsInput)
         { cpuFlavors(input: $cpuFlavorInput) { specifics(input: $specificsInput) { stockStatus } } }`,
      {
        cpuFlavorInput: { id: 'cpu3c' },
        specificsInput: { instanceId: 'cpu3c-2-4', dataCenterId: 'LOCAL-1' },
      },
    ],
    `query mySecrets { myself { secrets { id name description createdAt } } }`,
    `query globalVolumes { myself { globalStoreBuckets { id name } } }`,
  ],
});

const flash = documents('flash', {
  '09154cf': [
    [
      `mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { aiKey gpuIds id idleTimeout locations name
         networkVolumeId networkVolumeIds { networkVolumeId dataCenterId } flashEnvironmentId scalerType scalerValue templateId
         type userId version workersMax workersMin workersStandby workersPFBTarget gpuCount allowedCudaVersions minCudaVersion
         executionTimeoutMs instanceIds activeBuildid idePodId flashBootType } }`,
      {
        input: {
          name: 'flash',
          template: { name: '<name>', imageName: 'i:1', containerDiskInGb: 64, env: [], startScript: '', ports: '' },
          gpuIds: 'ADA_24',
          gpuCount: 1,
          executionTimeoutMs: 0,
          idleTimeout: 60,
          minCudaVersion: '12.8',
          allowedCudaVersions: '',
          scalerType: 'QUEUE_DELAY',
          scalerValue: 4,
          type: 'QB',
          workersMax: 1,
          workersMin: 0,
          workersPFBTarget: 0,
          flashBootType: 'FLASHBOOT',
          flashEnvironmentId: null,
        },
      },
    ],
    [
      `query getTemplate($id: String!)
         { podTemplate(id: $id) { id containerDiskInGb dockerArgs env { key value } imageName name readme } }`,
      { id: '<template>' },
    ],
    [
      `query ServerlessGpuTypes($lowestPriceInput: GpuLowestPriceInput, $gpuTypesInput: GpuTypeFilter)
         { gpuTypes(input: $gpuTypesInput) { lowestPrice(input: $lowestPriceInput) { stockStatus } } }`,
      {
        gpuTypesInput: { ids: [GPU] },
        lowestPriceInput: {
          dataCenterId: 'LOCAL-1',
          gpuCount: 1,
          secureCloud: true,
          includeAiApi: true,
          allowedCudaVersions: [],
          compliance: [],
        },
      },
    ],
    [`query getEndpoint($id: String!) { myself { endpoint(id: $id) { id } } }`, { id: '<endpoint>' }],
    [`mutation deleteEndpoint($id: String!) { deleteEndpoint(id: $id) }`, { id: '<endpoint>' }],
  ],
});

const flashCatalog = documents('flash', {
  '7da432f': [
    `query getCpuTypes { cpuTypes { id displayName manufacturer cores threadsPerCore groupId } }`,
    [
      `query getGpuTypes($input: GpuTypeFilter) { gpuTypes(input: $input) { id displayName manufacturer memoryInGb cudaCores
         secureCloud communityCloud securePrice communityPrice communitySpotPrice secureSpotPrice maxGpuCount
         maxGpuCountCommunityCloud maxGpuCountSecureCloud minPodGpuCount nodeGroupGpuSizes throughput } }`,
      { input: { id: GPU } },
    ],
    [
      `mutation saveTemplate($input: SaveTemplateInput) { saveTemplate(input: $input)
         { id containerDiskInGb dockerArgs env { key value } imageName name readme } }`,
      {
        input: {
          id: '<template>',
          name: '<name>',
          imageName: 'i:2',
          containerDiskInGb: 64,
          dockerArgs: '',
          env: [],
          volumeInGb: 0,
          readme: '',
        },
      },
    ],
  ],
  '451525d': [
    `query { pod(input: { podId: "<pod>" }) { id name desiredStatus imageName costPerHr uptimeSeconds
       machine { podHostId gpuDisplayName } runtime { ports { ip isIpPublic privatePort publicPort type } } } }`,
  ],
});

const mcp = documents('@runpod/mcp-server', {
  '2e03e2d': [
    `query { gpuTypes { id displayName memoryInGb secureCloud communityCloud lowestPrice(input: { gpuCount: 1, secureCloud: true })
       { stockStatus uninterruptablePrice gpuTypeCudaVersions { cudaVersion availability } } } }`,
    `query { gpuTypes { id displayName memoryInGb secureCloud communityCloud
       lowestPrice(input: { gpuCount: 1, allowedCudaVersions: ["12.8"] }) { stockStatus uninterruptablePrice } } }`,
  ],
  '215b41e': [
    `query { listings(input: {}) { id repoId title description repoName repoOwner createdAt updatedAt views stars deploys language
       category tags type listedRelease { id name tagName createdAt config build { id imageName } } } }`,
  ],
  '96b967b': [
    `query { allAiApiPublicConfigs
       { id aiApiId modelName displayName description metadata isLive createdAt updatedAt } }`,
  ],
});

const SKYPILOT_FIELDS = 'id desiredStatus imageName env machineId machine { podHostId }';
const skypilot = documents('SkyPilot', {
  '34b4641': [
    `mutation { podRentInterruptable(input: { name: "spot", imageName: "i:1", gpuTypeId: "${GPU}", bidPerGpu: 5,
       volumeMountPath: "/runpod-volume", cloudType: SECURE, startSsh: true, supportPublicIp: true, gpuCount: 1,
       minMemoryInGb: 24, minVcpuCount: 4, containerDiskInGb: 50, volumeInGb: 0, ports: "22/tcp,8265/http",
       dockerArgs: "sleep 1", dataCenterId: "EU-RO-1,LOCAL-1", countryCode: "US" }) { ${SKYPILOT_FIELDS} } }`,
  ],
});

const dstack = documents('dstack', {
  '0040985': [
    `query myself { myself { id authId email } }`,
    `query pod { pod(input: {podId: "<pod>"}) { ${POD_FIELDS} machine { gpuDisplayName } } }`,
    `mutation { podRentInterruptable(input: { name: "spot", imageName: "i:1", gpuTypeId: "${GPU}", cloudType: SECURE,
       startSsh: true, supportPublicIp: true, bidPerGpu: 5, gpuCount: 1, minVcpuCount: 1, minMemoryInGb: 1,
       ports: "10022/tcp" }) { id lastStatusChange imageName machine { podHostId } } }`,
    `mutation { podEditJob(input: { podId: "<pod>" imageName: "i:2" containerDiskInGb: 30
       containerRegistryAuthId: "<registry>" volumeInGb: 0 }) { id } }`,
    `query myself { myself { containerRegistryCreds { id, name } } }`,
    `query getMyVolumes { myself { networkVolumes { id, name, size, dataCenter { id name } } } }`,
    `mutation { createNetworkVolume(input: { name: "v", size: 10, dataCenterId: "LOCAL-1" }) { id } }`,
    `mutation { deleteNetworkVolume(input: { id: "<volume>" }) }`,
  ],
});

/** Consoles and scripts that follow the original's own console. */
const scripts = documents('scripts', {
  '9063987338': [
    `query GpuTypes { countryCodes dataCenters { id name listed globalNetwork location __typename } gpuTypes { maxGpuCount
       maxGpuCountCommunityCloud maxGpuCountSecureCloud minPodGpuCount id displayName memoryInGb secureCloud communityCloud
       manufacturer __typename } }`,
    [
      `query SecureGpuTypes($gpuTypesInput: GpuTypeFilter, $lowestPriceInput: GpuLowestPriceInput) { gpuTypes(input: $gpuTypesInput)
         { lowestPrice(input: $lowestPriceInput) { minimumBidPrice uninterruptablePrice minVcpu minMemory stockStatus compliance
         maxUnreservedGpuCount availableGpuCounts } id displayName memoryInGb securePrice communityPrice oneMonthPrice
         oneWeekPrice threeMonthPrice sixMonthPrice secureSpotPrice } }`,
      {
        gpuTypesInput: { id: GPU },
        lowestPriceInput: {
          gpuCount: 1,
          minDisk: 0,
          minMemoryInGb: 8,
          minVcpuCount: 2,
          countryCode: null,
          minDownload: 400,
          minUpload: 400,
          supportPublicIp: false,
          secureCloud: true,
        },
      },
    ],
    `query CpuFlavors { cpuFlavors { id groupId groupName displayName minVcpu maxVcpu ramMultiplier diskLimitPerVcpu } }`,
    `query myself { myself { podTemplates { advancedStart containerDiskInGb containerRegistryAuthId dockerArgs earned
       env { key value } id imageName isPublic isRunpod isServerless boundEndpointId name ports readme runtimeInMin startJupyter
       startScript startSsh volumeInGb volumeMountPath config category } } }`,
  ],
  '61489742505': [
    [
      `query Availability($input: GpuAvailabilityInput) { dataCenters { id name location storageSupport
         gpuAvailability(input: $input) { available stockStatus gpuTypeId gpuTypeDisplayName displayName } } }`,
      {
        input: { gpuCount: 1, minDisk: 5, minMemoryInGb: 80, minVcpuCount: 2, secureCloud: true, includeAiApi: false },
      },
    ],
  ],
  '61818920865': [
    `query Spending { myself { id currentSpendPerHr machineQuota referralEarned spendLimit templateEarned notifyPodsStale
       notifyPodsGeneral notifyLowBalance clientBalance hostBalance minBalance underBalance } }`,
  ],
  telemetry: [
    `{ pod(input: {podId: "<pod>"}) { id lastStartedAt latestTelemetry { state time cpuUtilization memoryUtilization
       averageGpuMetrics { percentUtilization temperatureCelcius memoryUtilization powerWatts } lastStateTransitionTimestamp
       individualGpuMetrics { id percentUtilization } } } }`,
  ],
});

/** The documents that are answered. */
export const DOCUMENTS: readonly ClientDocument[] = [
  ...python,
  ...RUNPODCTL,
  ...flash,
  ...flashCatalog,
  ...mcp,
  ...skypilot,
  ...dstack,
  ...CLUSTERS,
  ...scripts,
];

/** The documents that are refused: docs/interface/graphql.md, "Clients", names their operations and says why. */
export const UNSUPPORTED: readonly ClientDocument[] = [
  ...MODEL_MUTATIONS,
  ...documents('runpod-python', {
    '07d58d3': [
      `mutation createGlobalVolume($input: GlobalStoreBucketCreateInput!) { globalStoreBucketCreate(input: $input) { id name } }`,
    ],
  }),
  ...documents('flash', {
    '09154cf': [
      `query getFlashApps { myself { flashApps { id name } } }`,
      `query getFlashApp($input: String!) { flashApp(flashAppId: $input) { id name } }`,
      `mutation createFlashApp($input: CreateFlashAppInput!) { createFlashApp(input: $input) { id name } }`,
      `mutation createFlashAuthRequest { createFlashAuthRequest { id status expiresAt } }`,
    ],
  }),
  ...documents('SkyPilot', {
    '34b4641': [
      `mutation { networkVolumeCreate(input: { name: "v", volumeInGb: 10, volumeMountPath: "/v", volumeKey: "k" })
         { id name dataCenterId volumeInGb } }`,
    ],
  }),
];
