import type { TSchema } from 'typebox';
import {
  AccountResponse,
  ApiKeyList,
  ApiKeyResponse,
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  CreatedS3KeyResponse,
  CreateS3KeyRequest,
  ReplaceSshKeysRequest,
  RotateApiKeyRequest,
  S3KeyList,
  S3KeyResponse,
  UpdateApiKeyRequest,
} from './account/account-schemas.ts';
import { AUDIT_SCHEMAS } from './audit/audit-schemas.ts';
import {
  BillingResponse,
  ClusterBillingResponse,
  EndpointBillingResponse,
  NetworkVolumeBillingResponse,
  PodBillingResponse,
  ServerlessBillingResponse,
} from './billing/billing-schemas.ts';
import { COST_SCHEMAS } from './billing/cost-schemas.ts';
import { BUDGET_SCHEMAS } from './budgets/budget-schemas.ts';
import { BUILD_SCHEMAS } from './builds/build-schemas.ts';
import {
  CpuFlavorList,
  CpuFlavorResponse,
  DataCenterList,
  DataCenterResponse,
  GpuCapacity,
  GpuTypeList,
  GpuTypeResponse,
} from './catalog/catalog-schemas.ts';
import {
  ClusterList,
  ClusterResponse,
  CreateClusterRequest,
  UpdateClusterRequest,
} from './clusters/cluster-schemas.ts';
import { DecisionList } from './endpoints/decision-schemas.ts';
import { EndpointFiguresList, EndpointFiguresResponse } from './endpoints/figure-schemas.ts';
import { LeaseResponse, RenewLeaseRequest } from './endpoints/lease-routes.ts';
import { EndpointStateResponse } from './endpoints/state-schemas.ts';
import { GIT_SOURCE_SCHEMAS } from './git-sources/git-source-schemas.ts';
import { GpuRuleResponse, ReplaceGpuRuleRequest } from './gpu-rules/gpu-rule-schemas.ts';
import { HistoryResponse } from './history/history-schemas.ts';
import { InstallationEndpointList } from './installation/endpoint-list-schemas.ts';
import { InstallationResponse } from './installation/installation-schemas.ts';
import { JobDetailResponse, JobList } from './jobs/job-schemas.ts';
import { LIMIT_SCHEMAS } from './limits/limit-schemas.ts';
import { LogLines } from './logs/log-schemas.ts';
import {
  FetchMachineModelRequest,
  MachineModelListResponse,
  MachineModelResponse,
  UpdateMachineModelRequest,
} from './machine-models/machine-model-schemas.ts';
import { MODEL_SCHEMAS } from './models/model-schemas.ts';
import {
  CreateNetworkVolumeRequest,
  NetworkVolumeList,
  NetworkVolumeResponse,
  UpdateNetworkVolumeRequest,
} from './network-volumes/volume-schemas.ts';
import { NOTICE_SCHEMAS } from './notices/notice-schemas.ts';
import { PodList, PodResponse, UpdatePodRequest } from './pods/pod-fields.ts';
import { PodAccess, PodActionRequest, PodJupyter, PodLifetime } from './pods/pod-schemas.ts';
import {
  CreateDelegationRequest,
  CreateRegistryRequest,
  DelegationList,
  DelegationResponse,
  RegistryList,
  RegistryResponse,
} from './registries/registry-schemas.ts';
import {
  ChangeRolloutRequest,
  ReleaseImage,
  ReleaseImageListResponse,
  ReleaseListResponse,
  ReleaseResponse,
  RolloutResponse,
  TrialResponse,
} from './releases/release-schemas.ts';
import { ReplaceScheduleRequest, ScheduleResponse } from './scheduled-floors/schedule-schemas.ts';
import { CreateSecretRequest, SecretList, SecretResponse, UpdateSecretRequest } from './secrets/secret-schemas.ts';
import { SESSION_SCHEMAS } from './sessions/session-schemas.ts';
import { ErrorResponse } from './shared/error-response.ts';
import { SimulateRequest, SimulationResponse } from './simulation/simulation-schemas.ts';
import { TEAM_SCHEMAS } from './teams/team-schemas.ts';
import { TemplateList, TemplateResponse, UpdateTemplateRequest } from './templates/template-wire.ts';
import { TERMINAL_SCHEMAS } from './terminals/terminal-schemas.ts';
import { USER_SCHEMAS } from './users/user-schemas.ts';
import type { Wires } from './wires.ts';
import {
  EndedWorkerResponse,
  WorkerDetailResponse,
  WorkerListResponse,
  WorkerResponse,
  WorkerStartResponse,
} from './workers/worker-schemas.ts';
import { ReplaceWorkloadOptionsRequest, WorkloadOptionsResponse } from './workload-options/workload-option-schemas.ts';

/** Returns every schema that a revision's OpenAPI description lists under its own name. */
export const namedSchemas = ({ endpoints, pods, sshKeys, templates }: Wires): readonly TSchema[] => [
  ErrorResponse,
  PodResponse,
  PodList,
  ...pods.schemas,
  UpdatePodRequest,
  PodActionRequest,
  PodAccess,
  PodJupyter,
  ClusterResponse,
  ClusterList,
  CreateClusterRequest,
  UpdateClusterRequest,
  PodLifetime,
  ...endpoints.schemas,
  EndpointStateResponse,
  EndpointFiguresResponse,
  EndpointFiguresList,
  WorkerResponse,
  WorkerListResponse,
  WorkerDetailResponse,
  EndedWorkerResponse,
  WorkerStartResponse,
  InstallationResponse,
  InstallationEndpointList,
  ...LIMIT_SCHEMAS,
  SimulationResponse,
  SimulateRequest,
  MachineModelResponse,
  MachineModelListResponse,
  FetchMachineModelRequest,
  UpdateMachineModelRequest,
  DecisionList,
  JobList,
  JobDetailResponse,
  LogLines,
  HistoryResponse,
  RenewLeaseRequest,
  LeaseResponse,
  ScheduleResponse,
  ReplaceWorkloadOptionsRequest,
  WorkloadOptionsResponse,
  ReplaceScheduleRequest,
  GpuRuleResponse,
  ReplaceGpuRuleRequest,
  ReleaseResponse,
  RolloutResponse,
  TrialResponse,
  ChangeRolloutRequest,
  ReleaseImage,
  ReleaseImageListResponse,
  ReleaseListResponse,
  TemplateResponse,
  TemplateList,
  ...templates.schemas,
  UpdateTemplateRequest,
  NetworkVolumeResponse,
  NetworkVolumeList,
  CreateNetworkVolumeRequest,
  UpdateNetworkVolumeRequest,
  RegistryResponse,
  RegistryList,
  CreateRegistryRequest,
  DelegationResponse,
  DelegationList,
  CreateDelegationRequest,
  GpuTypeResponse,
  GpuCapacity,
  GpuTypeList,
  CpuFlavorResponse,
  CpuFlavorList,
  DataCenterResponse,
  DataCenterList,
  BillingResponse,
  PodBillingResponse,
  ServerlessBillingResponse,
  EndpointBillingResponse,
  NetworkVolumeBillingResponse,
  ClusterBillingResponse,
  ...COST_SCHEMAS,
  ...AUDIT_SCHEMAS,
  ...BUDGET_SCHEMAS,
  ...NOTICE_SCHEMAS,
  ...BUILD_SCHEMAS,
  ...GIT_SOURCE_SCHEMAS,
  ...MODEL_SCHEMAS,
  AccountResponse,
  ApiKeyResponse,
  ApiKeyList,
  UpdateApiKeyRequest,
  RotateApiKeyRequest,
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  ...TEAM_SCHEMAS,
  S3KeyResponse,
  S3KeyList,
  CreateS3KeyRequest,
  CreatedS3KeyResponse,
  ...USER_SCHEMAS,
  ...SESSION_SCHEMAS,
  ...TERMINAL_SCHEMAS,
  SecretResponse,
  SecretList,
  CreateSecretRequest,
  UpdateSecretRequest,
  ...sshKeys.schemas,
  ReplaceSshKeysRequest,
];
