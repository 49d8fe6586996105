import {
  AccountResponse,
  ApiKeyList,
  ApiKeyResponse,
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  ReplaceSshKeysRequest,
  SshKeyList,
} from './account-schemas.ts';
import {
  BillingResponse,
  ClusterBillingResponse,
  EndpointBillingResponse,
  NetworkVolumeBillingResponse,
  PodBillingResponse,
  ServerlessBillingResponse,
} from './billing-schemas.ts';
import {
  CpuFlavorList,
  CpuFlavorResponse,
  DataCenterList,
  DataCenterResponse,
  GpuTypeList,
  GpuTypeResponse,
} from './catalog-schemas.ts';
import { CreateEndpointRequest, EndpointList, EndpointResponse, UpdateEndpointRequest } from './endpoint-schemas.ts';
import { ErrorResponse } from './error-response.ts';
import { InstallationResponse } from './installation-schemas.ts';
import { CreatePodRequest, PodActionRequest, PodList, PodResponse, UpdatePodRequest } from './pod-schemas.ts';
import {
  CreateDelegationRequest,
  CreateRegistryRequest,
  DelegationList,
  DelegationResponse,
  RegistryList,
  RegistryResponse,
} from './registry-schemas.ts';
import { ChangeRolloutRequest, ReleaseListResponse, ReleaseResponse, RolloutResponse } from './release-schemas.ts';
import { CreateSecretRequest, SecretList, SecretResponse, UpdateSecretRequest } from './secret-schemas.ts';
import { SimulateRequest, SimulationResponse } from './simulation-schemas.ts';
import { CreateTemplateRequest, TemplateList, TemplateResponse, UpdateTemplateRequest } from './template-schemas.ts';
import {
  CreateNetworkVolumeRequest,
  NetworkVolumeList,
  NetworkVolumeResponse,
  UpdateNetworkVolumeRequest,
} from './volume-schemas.ts';
import { DecisionList, WorkerDetailResponse, WorkerListResponse, WorkerResponse } from './worker-schemas.ts';

/** Every schema with a name of its own in the description. */
export const SHARED_SCHEMAS = [
  ErrorResponse,
  PodResponse,
  PodList,
  CreatePodRequest,
  UpdatePodRequest,
  PodActionRequest,
  EndpointResponse,
  EndpointList,
  CreateEndpointRequest,
  UpdateEndpointRequest,
  WorkerResponse,
  WorkerListResponse,
  WorkerDetailResponse,
  InstallationResponse,
  SimulationResponse,
  SimulateRequest,
  DecisionList,
  ReleaseResponse,
  RolloutResponse,
  ChangeRolloutRequest,
  ReleaseListResponse,
  TemplateResponse,
  TemplateList,
  CreateTemplateRequest,
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
  AccountResponse,
  ApiKeyResponse,
  ApiKeyList,
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  SecretResponse,
  SecretList,
  CreateSecretRequest,
  UpdateSecretRequest,
  SshKeyList,
  ReplaceSshKeysRequest,
] as const;
