export interface paths {
  "/v2/pods": {
    parameters: {};
    get: operations["listPods"];
    post: operations["createPod"];
  };
  "/v2/pods/live": {
    parameters: {};
    get: operations["watchPods"];
  };
  "/v2/pods/{id}": {
    parameters: {};
    get: operations["getPod"];
    delete: operations["deletePod"];
    patch: operations["updatePod"];
  };
  "/v2/pods/{id}/action": {
    parameters: {};
    post: operations["podAction"];
  };
  "/v2/pods/{id}/access": {
    parameters: {};
    get: operations["getPodAccess"];
    put: operations["setPodAccess"];
  };
  "/v2/pods/{id}/lifetime": {
    parameters: {};
    get: operations["getPodLifetime"];
    put: operations["setPodLifetime"];
  };
  "/v2/pods/{id}/jupyter": {
    parameters: {};
    get: operations["getPodJupyter"];
  };
  "/v2/clusters": {
    parameters: {};
    get: operations["listClusters"];
    post: operations["createCluster"];
  };
  "/v2/clusters/{id}": {
    parameters: {};
    get: operations["getCluster"];
    delete: operations["deleteCluster"];
    patch: operations["updateCluster"];
  };
  "/v2/clusters/{id}/pods": {
    parameters: {};
    get: operations["listClusterPods"];
  };
  "/v2/serverless": {
    parameters: {};
    get: operations["listEndpoints"];
    post: operations["createEndpoint"];
  };
  "/v2/serverless/{id}": {
    parameters: {};
    get: operations["getEndpoint"];
    delete: operations["deleteEndpoint"];
    patch: operations["updateEndpoint"];
  };
  "/v2/serverless/{id}/state": {
    parameters: {};
    get: operations["getEndpointState"];
  };
  "/v2/serverless/{id}/decisions": {
    parameters: {};
    get: operations["listDecisions"];
  };
  "/v2/serverless/figures": {
    parameters: {};
    get: operations["listEndpointFigures"];
  };
  "/v2/serverless/{id}/live": {
    parameters: {};
    get: operations["watchEndpoint"];
  };
  "/v2/serverless/{id}/builds": {
    parameters: {};
    get: operations["listBuilds"];
  };
  "/v2/serverless/{id}/builds/{buildId}": {
    parameters: {};
    get: operations["getBuild"];
  };
  "/v2/serverless/{id}/builds/{buildId}/logs": {
    parameters: {};
    get: operations["getBuildLogs"];
  };
  "/v2/serverless/{id}/workers": {
    parameters: {};
    get: operations["listEndpointWorkers"];
  };
  "/v2/serverless/{id}/workers/{workerId}": {
    parameters: {};
    get: operations["getWorker"];
  };
  "/v2/pods/{id}/terminals": {
    parameters: {};
    post: operations["createPodTerminal"];
  };
  "/v2/serverless/{id}/terminals": {
    parameters: {};
    post: operations["createWorkerTerminal"];
  };
  "/v2/account/terminals": {
    parameters: {};
    get: operations["listTerminals"];
  };
  "/v2/account/terminals/{id}": {
    parameters: {};
    delete: operations["endTerminal"];
  };
  "/v2/pods/{id}/logs": {
    parameters: {};
    get: operations["getPodLogs"];
  };
  "/v2/serverless/{id}/workers/{workerId}/logs": {
    parameters: {};
    get: operations["getWorkerLogs"];
  };
  "/v2/serverless/{id}/logs": {
    parameters: {};
    get: operations["getEndpointLogs"];
  };
  "/v2/serverless/{id}/log-lines": {
    parameters: {};
    get: operations["listEndpointLogLines"];
  };
  "/v2/pods/{id}/log-lines": {
    parameters: {};
    get: operations["listPodLogLines"];
  };
  "/v2/serverless/{id}/logs/download": {
    parameters: {};
    get: operations["downloadEndpointLog"];
  };
  "/v2/pods/{id}/logs/download": {
    parameters: {};
    get: operations["downloadPodLog"];
  };
  "/v2/serverless/{id}/requests": {
    parameters: {};
    get: operations["listJobs"];
  };
  "/v2/serverless/{id}/requests/{jobId}": {
    parameters: {};
    get: operations["getJob"];
  };
  "/v2/serverless/{id}/requests/{jobId}/input": {
    parameters: {};
    get: operations["getJobInput"];
  };
  "/v2/serverless/{id}/requests/{jobId}/output": {
    parameters: {};
    get: operations["getJobOutput"];
  };
  "/v2/serverless/{id}/requests/{jobId}/error": {
    parameters: {};
    get: operations["getJobError"];
  };
  "/v2/serverless/{id}/history": {
    parameters: {};
    get: operations["getEndpointHistory"];
  };
  "/v2/account/installation/history": {
    parameters: {};
    get: operations["getInstallationHistory"];
  };
  "/v2/serverless/{id}/lease": {
    parameters: {};
    put: operations["renewEndpointLease"];
  };
  "/v2/serverless/{id}/schedule": {
    parameters: {};
    get: operations["getSchedule"];
    put: operations["replaceSchedule"];
    delete: operations["deleteSchedule"];
  };
  "/v2/serverless/{id}/workload-options": {
    parameters: {};
    get: operations["getWorkloadOptions"];
    put: operations["replaceWorkloadOptions"];
  };
  "/v2/serverless/{id}/git-source": {
    parameters: {};
    get: operations["getGitSource"];
    put: operations["replaceGitSource"];
    delete: operations["deleteGitSource"];
  };
  "/v2/serverless/{id}/git-source/sync": {
    parameters: {};
    post: operations["syncGitSource"];
  };
  "/hooks/git/{sourceId}": {
    parameters: {};
    post: operations["receiveGitWebhook"];
  };
  "/v2/serverless/{id}/gpu-rule": {
    parameters: {};
    get: operations["getGpuRule"];
    put: operations["replaceGpuRule"];
  };
  "/v2/serverless/{id}/models": {
    parameters: {};
    get: operations["getEndpointModels"];
    put: operations["replaceEndpointModels"];
  };
  "/v2/models/resolve": {
    parameters: {};
    post: operations["resolveModels"];
  };
  "/v2/serverless/{id}/releases": {
    parameters: {};
    get: operations["listEndpointReleases"];
  };
  "/v2/serverless/{id}/release-images": {
    parameters: {};
    get: operations["listReleaseImages"];
  };
  "/v2/serverless/{id}/releases/{releaseId}/rollback": {
    parameters: {};
    post: operations["rollbackRelease"];
  };
  "/v2/serverless/{id}/rollout": {
    parameters: {};
    post: operations["changeRollout"];
  };
  "/v2/builds/missing-files": {
    parameters: {};
    post: operations["findMissingFiles"];
  };
  "/v2/builds/files/{digest}": {
    parameters: {};
    put: operations["storeBuildFile"];
  };
  "/v2/builds/files": {
    parameters: {};
    post: operations["storeBuildFiles"];
  };
  "/v2/builds": {
    parameters: {};
    get: operations["listAllBuilds"];
    post: operations["createBuild"];
  };
  "/v2/builds/{id}": {
    parameters: {};
    get: operations["getAnyBuild"];
  };
  "/v2/builds/{id}/cancel": {
    parameters: {};
    post: operations["cancelBuild"];
  };
  "/v2/builds/{id}/retry": {
    parameters: {};
    post: operations["retryBuild"];
  };
  "/v2/builds/{id}/logs": {
    parameters: {};
    get: operations["streamBuildLog"];
  };
  "/v2/templates": {
    parameters: {};
    get: operations["listTemplates"];
    post: operations["createTemplate"];
  };
  "/v2/templates/{id}": {
    parameters: {};
    get: operations["getTemplate"];
    delete: operations["deleteTemplate"];
    patch: operations["updateTemplate"];
  };
  "/v2/network-volumes": {
    parameters: {};
    get: operations["listNetworkVolumes"];
    post: operations["createNetworkVolume"];
  };
  "/v2/network-volumes/{id}": {
    parameters: {};
    get: operations["getNetworkVolume"];
    delete: operations["deleteNetworkVolume"];
    patch: operations["updateNetworkVolume"];
  };
  "/v2/registries": {
    parameters: {};
    get: operations["listRegistries"];
    post: operations["createRegistry"];
  };
  "/v2/registries/{id}": {
    parameters: {};
    get: operations["getRegistry"];
    delete: operations["deleteRegistry"];
  };
  "/v2/registries/delegations": {
    parameters: {};
    get: operations["listRegistryDelegations"];
    post: operations["createRegistryDelegation"];
  };
  "/v2/registries/delegations/{id}": {
    parameters: {};
    delete: operations["deleteRegistryDelegation"];
  };
  "/v2/catalog/gpus": {
    parameters: {};
    get: operations["listGpuTypes"];
  };
  "/v2/catalog/gpus/{id}": {
    parameters: {};
    get: operations["getGpuType"];
  };
  "/v2/catalog/capacity": {
    parameters: {};
    get: operations["getGpuCapacity"];
  };
  "/v2/catalog/cpus": {
    parameters: {};
    get: operations["listCpuFlavors"];
  };
  "/v2/catalog/cpus/{id}": {
    parameters: {};
    get: operations["getCpuFlavor"];
  };
  "/v2/catalog/datacenters": {
    parameters: {};
    get: operations["listDataCenters"];
  };
  "/v2/catalog/datacenters/{id}": {
    parameters: {};
    get: operations["getDataCenter"];
  };
  "/v2/catalog/templates": {
    parameters: {};
    get: operations["listPublicTemplates"];
  };
  "/v2/billing": {
    parameters: {};
    get: operations["getBilling"];
  };
  "/v2/billing/pods": {
    parameters: {};
    get: operations["getPodBilling"];
  };
  "/v2/billing/serverless": {
    parameters: {};
    get: operations["getServerlessBilling"];
  };
  "/v2/billing/endpoints": {
    parameters: {};
    get: operations["getEndpointBilling"];
  };
  "/v2/billing/networkvolumes": {
    parameters: {};
    get: operations["getNetworkVolumeBilling"];
  };
  "/v2/billing/network-volumes": {
    parameters: {};
    get: operations["getNetworkVolumeBillingAlias"];
  };
  "/v2/billing/clusters": {
    parameters: {};
    get: operations["getClusterBilling"];
  };
  "/v2/billing/costs": {
    parameters: {};
    get: operations["getCosts"];
  };
  "/v2/billing/export": {
    parameters: {};
    get: operations["exportCosts"];
  };
  "/v2/billing/forecast": {
    parameters: {};
    get: operations["getCostForecast"];
  };
  "/v2/audit": {
    parameters: {};
    get: operations["listAudit"];
  };
  "/v2/audit/export": {
    parameters: {};
    get: operations["exportAudit"];
  };
  "/v2/billing/budgets": {
    parameters: {};
    get: operations["listBudgets"];
    post: operations["createBudget"];
  };
  "/v2/billing/budgets/{budgetId}": {
    parameters: {};
    delete: operations["deleteBudget"];
    patch: operations["updateBudget"];
  };
  "/v2/account": {
    parameters: {};
    get: operations["getAccount"];
  };
  "/v2/account/live": {
    parameters: {};
    get: operations["watchAccount"];
  };
  "/v2/account/api-keys": {
    parameters: {};
    get: operations["listApiKeys"];
    post: operations["createApiKey"];
  };
  "/v2/account/api-keys/{id}": {
    parameters: {};
    delete: operations["deleteApiKey"];
    patch: operations["updateApiKey"];
  };
  "/v2/account/api-keys/{id}/rotate": {
    parameters: {};
    post: operations["rotateApiKey"];
  };
  "/v2/account/ssh-keys": {
    parameters: {};
    get: operations["listSshKeys"];
    put: operations["replaceSshKeys"];
  };
  "/v2/account/limits": {
    parameters: {};
    get: operations["getOwnLimits"];
  };
  "/v2/account/users/{id}/limits": {
    parameters: {};
    get: operations["getUserLimits"];
    patch: operations["updateUserLimits"];
  };
  "/v2/account/installation/limits": {
    parameters: {};
    get: operations["getInstallationLimits"];
    patch: operations["updateInstallationLimits"];
  };
  "/v2/account/users": {
    parameters: {};
    get: operations["listUsers"];
    post: operations["createUser"];
  };
  "/v2/account/users/{id}": {
    parameters: {};
    get: operations["getUser"];
    delete: operations["deleteUser"];
    patch: operations["updateUser"];
  };
  "/v2/account/users/{id}/suspend": {
    parameters: {};
    post: operations["suspendUser"];
  };
  "/v2/account/users/{id}/resume": {
    parameters: {};
    post: operations["resumeUser"];
  };
  "/v2/account/users/{id}/removal": {
    parameters: {};
    get: operations["planUserRemoval"];
  };
  "/v2/account/users/{id}/rate-limit": {
    parameters: {};
    get: operations["getUserRateLimit"];
    put: operations["replaceUserRateLimit"];
  };
  "/v2/account/users/{id}/api-keys": {
    parameters: {};
    get: operations["listUserApiKeys"];
    post: operations["createUserApiKey"];
  };
  "/v2/account/users/{id}/api-keys/{keyId}": {
    parameters: {};
    delete: operations["deleteUserApiKey"];
    patch: operations["updateUserApiKey"];
  };
  "/v2/account/users/{id}/api-keys/{keyId}/rotate": {
    parameters: {};
    post: operations["rotateUserApiKey"];
  };
  "/v2/account/users/{id}/invitation": {
    parameters: {};
    get: operations["getInvitation"];
    post: operations["createInvitation"];
    delete: operations["deleteInvitation"];
  };
  "/v2/account/users/{id}/password": {
    parameters: {};
    delete: operations["removeUserPassword"];
  };
  "/v2/teams": {
    parameters: {};
    get: operations["listTeams"];
    post: operations["createTeam"];
  };
  "/v2/teams/{id}": {
    parameters: {};
    get: operations["getTeam"];
    delete: operations["deleteTeam"];
    patch: operations["updateTeam"];
  };
  "/v2/teams/{id}/members": {
    parameters: {};
    get: operations["listTeamMembers"];
    post: operations["addTeamMember"];
  };
  "/v2/teams/{id}/members/{userId}": {
    parameters: {};
    delete: operations["removeTeamMember"];
    patch: operations["updateTeamMember"];
  };
  "/v2/account/installation": {
    parameters: {};
    get: operations["getInstallation"];
  };
  "/v2/account/installation/endpoints": {
    parameters: {};
    get: operations["listInstallationEndpoints"];
  };
  "/v2/account/simulation": {
    parameters: {};
    get: operations["getSimulation"];
    post: operations["simulate"];
  };
  "/v2/models": {
    parameters: {};
    get: operations["listMachineModels"];
    post: operations["fetchMachineModel"];
  };
  "/v2/models/{id}": {
    parameters: {};
    delete: operations["removeMachineModel"];
    patch: operations["updateMachineModel"];
  };
  "/v2/account/sessions": {
    parameters: {};
    get: operations["listSessions"];
  };
  "/v2/account/sessions/{id}": {
    parameters: {};
    delete: operations["endSession"];
  };
  "/v2/account/users/{id}/sessions": {
    parameters: {};
    get: operations["listUserSessions"];
  };
  "/v2/account/users/{id}/sessions/{sessionId}": {
    parameters: {};
    delete: operations["endUserSession"];
  };
  "/v2/account/s3-keys": {
    parameters: {};
    get: operations["listS3Keys"];
    post: operations["createS3Key"];
  };
  "/v2/account/s3-keys/{id}": {
    parameters: {};
    delete: operations["deleteS3Key"];
  };
  "/v2/account/notices": {
    parameters: {};
    get: operations["listNoticeDestinations"];
    post: operations["createNoticeDestination"];
  };
  "/v2/account/notices/{id}": {
    parameters: {};
    delete: operations["deleteNoticeDestination"];
    patch: operations["updateNoticeDestination"];
  };
  "/v2/account/notices/{id}/test": {
    parameters: {};
    post: operations["testNoticeDestination"];
  };
  "/v2/account/notices/{id}/deliveries": {
    parameters: {};
    get: operations["listNoticeDeliveries"];
  };
  "/v2/account/secrets": {
    parameters: {};
    get: operations["listSecrets"];
    post: operations["createSecret"];
  };
  "/v2/account/secrets/{id}": {
    parameters: {};
    get: operations["getSecret"];
    delete: operations["deleteSecret"];
    patch: operations["updateSecret"];
  };
  "/healthz": {
    parameters: {};
    get: operations["getHealth"];
  };
  "/readyz": {
    parameters: {};
    get: operations["getReadiness"];
  };
  "/metrics": {
    parameters: {};
    get: operations["getMetrics"];
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    ErrorResponse: {
      title: string;
      status: number;
      detail: string;
      errors?: string[];
    };
    Pod: {
      id: string;
      name: string;
      status: "PROVISIONING" | "STARTING" | "RUNNING" | "EXITED" | "ERROR" | "TERMINATED";
      actions: ("start" | "stop" | "restart" | "terminate")[];
      image: string;
      args: string;
      disk: number;
      ports: string[];
      env: {
        [key: string]: string;
      };
      registry: string | null;
      gpu?: {
        id: string;
        count: number;
      };
      cpu?: {
        id: string;
        vcpuCount: number;
        memory: number;
      };
      mounts: {
        persistent?: {
          size: number;
          path: string;
        };
        network?: {
          volumeId: string;
          path: string;
        }[];
      };
      cloud: "SECURE" | "COMMUNITY";
      dataCenterId: string | null;
      template: string | null;
      cost: number;
      locked: boolean;
      globalNetworking: {
        enabled: boolean;
        internalDns?: string;
      };
      runtime: {
        uptime: number;
        gpus: {
          util: number;
          memoryUtil: number;
        }[];
        cpu: {
          util: number;
        };
        memory: {
          util: number;
        };
        ports: {
          private: number;
          public: number | null;
          type: string;
          ip: string | null;
        }[];
      } | null;
      ssh: {
        proxy: {
          host: string;
          port: number;
          username: string;
          command: string;
        } | null;
        direct: {
          host: string;
          port: number;
          username: string;
          command: string;
        } | null;
      };
      cudaVersion: string | null;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      startedAt: string | null;
      cluster?: {
        id: string;
        rank: number;
        role: "PRIMARY" | "WORKER";
        ip: string | null;
      };
      reason?: string | null;
    };
    PodList: {
      pods: components["schemas"]["Pod"][];
    };
    UpdatePodRequest: {
      name?: string;
      image?: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      registry?: string | null;
      mounts?: {
        persistent?: {
          size: number;
          path: string;
        };
        network?: {
          volumeId: string;
          path: string;
        }[];
      };
      locked?: boolean;
      globalNetworking?: boolean;
      templateId?: string;
    };
    PodActionRequest: {
      action: "start" | "stop" | "restart" | "terminate";
    };
    PodAccess: {
      private: boolean;
    };
    PodLifetime: {
      /** Format: date-time */
      stopAfter: string | null;
      /** Format: date-time */
      terminateAfter: string | null;
    };
    PodJupyter: {
      password: string | null;
    };
    CreatePodRequest: {
      name: string;
      image?: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      registry?: string | null;
      entrypoint?: string[];
      cmd?: string[];
      gpu?: {
        id: string;
        count?: number;
        allowedCudaVersions?: string[];
        minCudaVersion?: string;
        minRamPerGpu?: number;
        minVcpuCountPerGpu?: number;
      };
      cpu?: {
        id: string;
        vcpuCount: number;
      };
      mounts?: {
        persistent?: {
          size: number;
          path: string;
        };
        network?: {
          volumeId: string;
          path: string;
        }[];
      };
      cloud?: "SECURE" | "COMMUNITY";
      dataCenterIds?: string[];
      globalNetworking?: boolean;
      startSsh?: boolean;
      startJupyter?: boolean;
      templateId?: string;
    };
    Cluster: {
      id: string;
      name: string;
      type: "APPLICATION" | "TRAINING" | "SLURM" | "RAY";
      compute: {
        gpuTypeId: string;
        gpuCountPerPod: number;
        podCount: number;
      };
      pods: {
        total: number;
        byStatus: {
          [key: string]: number;
        };
      };
      /** Format: date-time */
      createdAt: string;
      template?: string;
      dataCenterId?: string;
      network?: {
        cidr: string;
        vxlanId?: number;
        vxlanPort?: number;
      };
      primary?: {
        podId: string;
        status: "PROVISIONING" | "STARTING" | "RUNNING" | "EXITED" | "ERROR" | "TERMINATED";
        sshEndpoint?: string;
      };
      reason?: string | null;
    };
    ClusterList: {
      clusters: components["schemas"]["Cluster"][];
    };
    CreateClusterRequest: {
      name: string;
      type: "APPLICATION" | "TRAINING" | "SLURM" | "RAY";
      compute: {
        gpuTypeId: string;
        gpuCountPerPod: number;
        podCount: number;
      };
      image?: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      mounts?: {
        persistent?: {
          size: number;
          path: string;
        };
        network?: {
          volumeId: string;
          path: string;
        }[];
      };
      dataCenterIds?: string[];
      startSsh?: boolean;
      startJupyter?: boolean;
      templateId?: string;
    };
    UpdateClusterRequest: {
      name?: string;
    };
    Endpoint: {
      id: string;
      name: string;
      type: "QUEUE" | "LOAD_BALANCER";
      requestUrls: {
        /** Format: uri */
        run: string;
        /** Format: uri */
        runSync: string;
        status: string;
        stream: string;
        cancel: string;
        retry: string;
        /** Format: uri */
        purgeQueue: string;
        /** Format: uri */
        health: string;
      } | {
        /** Format: uri */
        base: string;
        health: string;
      };
      gpu: {
        pools: string[];
        count: number;
        excludedTypes?: string[];
        allowedCudaVersions: string[];
        minCudaVersion: string | null;
      } | null;
      cpu?: {
        id: string;
        vcpuCount: number;
        memory: number;
      }[];
      workers: {
        min: number;
        max: number;
        idleTimeout?: number;
      };
      scaling: {
        type: "QUEUE_DELAY";
        queueDelay: number;
      } | {
        type: "REQUEST_COUNT";
        requestCount: number;
      };
      dataCenterIds: string[];
      networkVolumes: string[];
      timeout: number;
      flashboot: "OFF" | "FLASHBOOT" | "PRIORITY_FLASHBOOT";
      image: string;
      args: string;
      disk: number;
      ports: string[];
      env: {
        [key: string]: string;
      };
      registry: string | null;
      /** Format: date-time */
      createdAt: string;
    };
    EndpointList: {
      endpoints: components["schemas"]["Endpoint"][];
      states?: components["schemas"]["EndpointState"][];
    };
    CreateEndpointRequest: {
      name: string;
      type: "QUEUE" | "LOAD_BALANCER";
      scaling: {
        type: "QUEUE_DELAY";
        queueDelay: number;
      } | {
        type: "REQUEST_COUNT";
        requestCount: number;
      };
      gpu?: {
        pools: string[];
        count?: number;
        excludedTypes?: string[];
        allowedCudaVersions?: string[];
        minCudaVersion?: string;
      };
      cpu?: {
        id: string;
        vcpuCount: number;
      }[];
      image?: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      registry?: string | null;
      models?: {
        source: string;
        include?: string[];
        exclude?: string[];
        tokenSecret?: string | null;
      }[];
      workers?: {
        min?: number;
        max?: number;
        idleTimeout?: number;
      };
      dataCenterIds?: string[];
      networkVolumes?: string[];
      timeout?: number;
      flashboot?: "OFF" | "FLASHBOOT" | "PRIORITY_FLASHBOOT";
      templateId?: string;
    } & (unknown & unknown & unknown);
    UpdateEndpointRequest: {
      name?: string;
      gpu?: {
        pools?: string[];
        count?: number;
        excludedTypes?: string[];
        allowedCudaVersions?: string[];
        minCudaVersion?: string;
      };
      cpu?: {
        id: string;
        vcpuCount: number;
      }[];
      workers?: {
        min?: number;
        max?: number;
        idleTimeout?: number;
      };
      scaling?: {
        type: "QUEUE_DELAY";
        queueDelay: number;
      } | {
        type: "REQUEST_COUNT";
        requestCount: number;
      };
      dataCenterIds?: string[];
      networkVolumes?: string[];
      timeout?: number;
      flashboot?: "OFF" | "FLASHBOOT" | "PRIORITY_FLASHBOOT";
      image?: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      registry?: string | null;
      templateId?: string;
    };
    EndpointState: {
      id: string;
      state: "HEALTHY" | "SCALED_TO_ZERO" | "STARTING" | "WAITING_FOR_CAPACITY" | "FAILING" | "ROLLING_OUT" | "PAUSED";
      /** Format: date-time */
      since: string | null;
      reason: string | null;
      warnings: string[];
    };
    EndpointFigures: {
      id: string;
      state: "HEALTHY" | "SCALED_TO_ZERO" | "STARTING" | "WAITING_FOR_CAPACITY" | "FAILING" | "ROLLING_OUT" | "PAUSED";
      /** Format: date-time */
      since: string | null;
      reason: string | null;
      warnings: string[];
      workers: number;
      waiting: number;
      running: number;
      requests: number;
      failed: number;
      requestsPerSecond: number;
      latencyP95Ms: number | null;
      costToday: number;
      series?: {
        stepSeconds: number;
        requests: number[];
        latencyP95Ms: (number | null)[];
      };
    };
    EndpointFiguresList: {
      figures: components["schemas"]["EndpointFigures"][];
    };
    DecisionList: {
      decisions: {
        /** Format: date-time */
        at: string;
        wanted: number;
        reason: string;
        inputs: {
          [key: string]: unknown;
        };
        actions: {
          kind: "start" | "thaw" | "freeze" | "stop" | "drain" | "exit";
          workerId: string;
          /** @enum {string|null} */
          cause: "DEMAND" | "MINIMUM" | "SCHEDULE" | "TRIAL" | "WORK_ARRIVED" | "IDLE" | "WORK_GONE" | "OVER_MAXIMUM" | "OVER_USER_LIMIT" | "OVER_BUDGET" | "OUTDATED" | "FLASHBOOT_OFF" | "ENDPOINT_DELETED" | "RUNTIME_CHANGED" | "PREEMPTED" | "EVICTED" | "PUT_TO_SLEEP" | "FROZEN_MEMORY" | "MACHINE_MEMORY" | "NOT_FROZEN" | "NOT_THAWED" | "NOT_WOKEN" | "UNHEALTHY" | "SILENT" | "IGNORED_STOP" | "ASKED" | "OVER_DISK" | "EXITED" | "GONE" | "GPU_LOST" | "START_FAILED" | "START_INTERRUPTED" | "NOT_READY" | null;
          reason: string;
        }[];
      }[];
    };
    Worker: {
      id: string;
      status: "RUNNING" | "IDLE" | "INITIALIZING" | "THROTTLED" | "UNHEALTHY";
      isStale: boolean;
      version: number | null;
      image: string | null;
      gpuCount: number;
      gpuTypeId: string | null;
      dataCenterId: string | null;
      uptimeSeconds: number | null;
      /** Format: date-time */
      startedAt: string | null;
      reason: string | null;
    };
    WorkerList: {
      workers: components["schemas"]["Worker"][];
      summary: {
        running: number;
        idle: number;
        initializing: number;
        throttled: number;
        unhealthy: number;
        total: number;
      };
      endpointVersion: number | null;
      ended?: components["schemas"]["EndedWorker"][];
      starts?: components["schemas"]["WorkerStart"][];
    };
    WorkerDetail: {
      id: string;
      status: "RUNNING" | "IDLE" | "INITIALIZING" | "THROTTLED" | "UNHEALTHY" | "FROZEN" | "EXITED";
      isStale: boolean;
      version: number | null;
      image: string | null;
      gpuCount: number;
      gpuTypeId: string | null;
      dataCenterId: string | null;
      uptimeSeconds: number | null;
      /** Format: date-time */
      startedAt: string | null;
      reason: string | null;
      cpu: {
        id: string;
        vcpuCount: number;
        memory: number;
      } | null;
      decision: string;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      frozenAt: string | null;
      frozenMemoryBytes: number | null;
      /** Format: date-time */
      endedAt: string | null;
      exitCode: number | null;
      timeline: {
        stage: "capacity" | "pull" | "models" | "create" | "start" | "ready";
        /** Format: date-time */
        from: string;
        /** Format: date-time */
        to: string | null;
        ms: number | null;
      }[];
      usage?: {
        cpu: {
          util: number;
        };
        memory: {
          util: number;
        };
        gpus: {
          util: number;
          memoryUtil: number;
        }[];
      } | null;
    };
    WorkerStart: {
      workerId: string;
      version: number;
      /** Format: date-time */
      createdAt: string;
      ready: boolean;
      failed: boolean;
      timeline: {
        stage: "capacity" | "pull" | "models" | "create" | "start" | "ready";
        /** Format: date-time */
        from: string;
        /** Format: date-time */
        to: string | null;
        ms: number | null;
      }[];
    };
    EndedWorker: {
      id: string;
      status: "EXITED";
      isStale: boolean;
      version: number | null;
      image: string | null;
      gpuCount: number;
      gpuTypeId: string | null;
      dataCenterId: string | null;
      uptimeSeconds: number | null;
      /** Format: date-time */
      startedAt: string | null;
      reason: string | null;
      lost: boolean;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      endedAt: string;
      exitCode: number | null;
    };
    Installation: {
      id: string;
      version: string;
      runtime: "docker" | "kubernetes" | "process" | "simulated";
      isolation: boolean;
      gpus: "REAL" | "SIMULATED";
      freeze: "STOPPED" | "PARKED" | "NONE";
      sleep: "CHECKPOINT" | "COOPERATIVE" | "NONE";
      buildHindrance: string | null;
      notices: string[];
      problems: string[];
    };
    InstallationEndpointList: {
      endpoints: {
        id: string;
        name: string;
        type: "QUEUE_BASED" | "LOAD_BALANCING";
        account: {
          id: string;
          name: string;
          kind: "PERSON" | "TEAM";
        };
        workers: number;
        state: "HEALTHY" | "SCALED_TO_ZERO" | "STARTING" | "WAITING_FOR_CAPACITY" | "FAILING" | "ROLLING_OUT" | "PAUSED";
        /** Format: date-time */
        since: string | null;
        reason: string | null;
        warnings: string[];
      }[];
      next: string | null;
    };
    Limits: {
      endpoints: number | null;
      pods: number | null;
      workers: number | null;
      gpus: number | null;
      queuedJobs: number | null;
      queuedBytes: number | null;
      logBytesPerDay: number | null;
      streamBytesPerJob: number | null;
      requestBytes: number | null;
      builds: number | null;
      buildBytes: number | null;
      workerQuota: number | null;
      gpuQuota: number | null;
    };
    OwnLimits: {
      endpoints?: number | null;
      pods?: number | null;
      workers?: number | null;
      gpus?: number | null;
      queuedJobs?: number | null;
      queuedBytes?: number | null;
      logBytesPerDay?: number | null;
      streamBytesPerJob?: number | null;
      requestBytes?: number | null;
      builds?: number | null;
      buildBytes?: number | null;
      workerQuota?: number | null;
      gpuQuota?: number | null;
    };
    QuotaUse: {
      quota: number | null;
      used: number;
      borrowed: number;
    };
    UserLimits: {
      userId: string;
      name: string;
      limits: components["schemas"]["Limits"];
      own: components["schemas"]["OwnLimits"];
      usage: {
        endpoints: number;
        pods: number;
        workers: number;
        gpus: number;
        queuedJobs: number;
        queuedBytes: number;
        logBytesToday: number;
      };
      quotas: {
        workers: components["schemas"]["QuotaUse"];
        gpus: components["schemas"]["QuotaUse"];
      };
    };
    InstallationLimits: {
      limits: components["schemas"]["Limits"];
      own: components["schemas"]["OwnLimits"];
    };
    UpdateLimitsRequest: {
      endpoints?: number | null | string;
      pods?: number | null | string;
      workers?: number | null | string;
      gpus?: number | null | string;
      queuedJobs?: number | null | string;
      queuedBytes?: number | null | string;
      logBytesPerDay?: number | null | string;
      streamBytesPerJob?: number | null | string;
      requestBytes?: number | null | string;
      builds?: number | null | string;
      buildBytes?: number | null | string;
      workerQuota?: number | null | string;
      gpuQuota?: number | null | string;
    };
    Simulation: {
      gpus: {
        pool: string;
        dataCenterId: string;
        total: number;
      }[];
      slowPull: {
        seconds: number;
        image: string | null;
      } | null;
    };
    SimulateRequest: {
      action: "capacity" | "slow-pull" | "crash" | "preempt" | "reset";
      pool?: string;
      dataCenterId?: string;
      total?: number;
      seconds?: number;
      image?: string;
      workerId?: string;
      endpointId?: string;
      starts?: number;
      exitCode?: number;
      graceSeconds?: number;
    };
    MachineModel: {
      id: string;
      source: "HUB" | "HTTPS" | "S3" | "OCI";
      name: string;
      commit: string;
      bytes: number;
      state: "STORED" | "FETCHING" | "FAILED";
      fetch: {
        bytes: number;
        totalBytes: number;
        bytesPerSecond: number;
        secondsLeft: number | null;
      } | null;
      problem: string | null;
      pinned: boolean;
      /** Format: date-time */
      fetchedAt: string | null;
      /** Format: date-time */
      usedAt: string | null;
      inUse: boolean;
      endpoints: {
        id: string;
        name: string;
      }[];
    };
    MachineModelList: {
      models: components["schemas"]["MachineModel"][];
      room: {
        budgetBytes: number;
        usedBytes: number;
        stuckBytes: number;
      } | null;
    };
    FetchMachineModelRequest: {
      source: string;
      include?: string[];
      exclude?: string[];
      tokenSecret?: string | null;
      pinned?: boolean;
    };
    UpdateMachineModelRequest: {
      pinned: boolean;
    };
    JobList: {
      requests: {
        id: string;
        status: "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";
        lowPriority: boolean;
        workerId: string | null;
        /** Format: date-time */
        createdAt: string;
        /** Format: date-time */
        startedAt: string | null;
        /** Format: date-time */
        finishedAt: string | null;
        delayTime: number;
        executionTime: number | null;
        retries: number;
        /** Format: date-time */
        keptUntil: string | null;
        error: string | null;
      }[];
      nextCursor: string | null;
    };
    JobDetail: {
      id: string;
      status: "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";
      lowPriority: boolean;
      workerId: string | null;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      startedAt: string | null;
      /** Format: date-time */
      finishedAt: string | null;
      delayTime: number;
      executionTime: number | null;
      retries: number;
      /** Format: date-time */
      keptUntil: string | null;
      error: string | null;
      errorBytes: number | null;
      sync: boolean;
      batchId: string | null;
      executionTimeout: number | null;
      /** Format: date-time */
      expiresAt: string | null;
      input?: unknown;
      inputBytes: number;
      output?: unknown;
      outputBytes: number | null;
      chunks: number;
      wait: {
        reason: "STARTING" | "WAITING_FOR_CAPACITY" | "FAILING" | "PAUSED" | "LOW_PRIORITY" | "BUSY";
        text: string;
        ahead: number;
      } | null;
      attempts: {
        attempt: number;
        workerId: string | null;
        stages: {
          stage: "queue" | "worker" | "thaw" | "models" | "capacity" | "pull" | "create" | "start" | "ready" | "running";
          /** Format: date-time */
          from: string;
          /** Format: date-time */
          to: string | null;
          ms: number;
          reason: string | null;
        }[];
      }[];
      webhook: {
        url: string;
        state: "WAITING" | "PENDING" | "DELIVERED" | "FAILED" | "UNKNOWN";
        tries: {
          /** Format: date-time */
          at: string;
          status: number | null;
          error: string | null;
        }[];
        /** Format: date-time */
        nextTryAt: string | null;
      } | null;
    };
    LogLines: {
      lines: {
        id: string;
        workerId: string | null;
        source: "container" | "system";
        /** @enum {string|null} */
        level: "DEBUG" | "INFO" | "WARN" | "ERROR" | null;
        line: string;
        /** Format: date-time */
        ts: string;
        message?: string;
        jobId?: string | null;
        traceback?: string | null;
      }[];
      nextCursor: string | null;
      /** Format: date-time */
      searchedTo: string | null;
      /** Format: date-time */
      keptSince: string | null;
    };
    History: {
      range: "1h" | "24h" | "7d" | "30d";
      /** Format: date-time */
      from: string;
      /** Format: date-time */
      until: string;
      stepSeconds: number;
      points: {
        /** Format: date-time */
        at: string;
        queued: number;
        inProgress: number;
        jobs: {
          completed: number;
          failed: number;
          cancelled: number;
          timedOut: number;
          retried: number;
        };
        waitMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        executionMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        requests: {
          "1xx": number;
          "2xx": number;
          "3xx": number;
          "4xx": number;
          "5xx": number;
        };
        latencyMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        coldStarts: number;
        workersEnded: number;
        workersLost: number;
        coldStartMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        workers: {
          running: number;
          idle: number;
          initializing: number;
          throttled: number;
          unhealthy: number;
          frozen: number;
        };
        gpuSeconds: number;
        cost: number;
      }[];
    };
    RenewLeaseRequest: {
      seconds: number;
    };
    EndpointLease: {
      /** Format: date-time */
      endsAt: string;
    };
    ReplaceScheduleRequest: {
      timeZone: string;
      floors: {
        days: ("SUN" | "MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT")[];
        from: string;
        until: string;
        workersMin: number;
      }[];
    };
    Schedule: {
      timeZone: string;
      floors: {
        days: ("SUN" | "MON" | "TUE" | "WED" | "THU" | "FRI" | "SAT")[];
        from: string;
        until: string;
        workersMin: number;
      }[];
      current: {
        workersMin: number;
        /** Format: date-time */
        until: string | null;
      };
    };
    ReplaceWorkloadOptionsRequest: {
      labels: {
        [key: string]: string;
      };
      annotations: {
        [key: string]: string;
      };
      cpusPerGpu: number | null;
      memoryGbPerGpu: number | null;
    };
    WorkloadOptions: {
      labels: {
        [key: string]: string;
      };
      annotations: {
        [key: string]: string;
      };
      cpusPerGpu: number | null;
      memoryGbPerGpu: number | null;
      permitted: {
        names: string[];
        cpusPerGpu: number | null;
        memoryGbPerGpu: number | null;
      };
    };
    ReplaceGpuRuleRequest: {
      excludedGpuTypes: string[];
      allowedCudaVersions: string[];
      minCudaVersion: string | null;
    };
    GpuRule: {
      excludedGpuTypes: string[];
      allowedCudaVersions: string[];
      minCudaVersion: string | null;
    };
    Release: {
      id: string;
      version: number;
      source: "MANUAL" | "GIT_BUILD";
      buildId: string | null;
      createdByUserId: string | null;
      workerCount: number;
      /** Format: date-time */
      createdAt: string;
      diff: {
        field: string;
        old: unknown;
        new: unknown;
      }[];
    };
    ReleaseList: {
      endpointVersion: number;
      rollout: components["schemas"]["Rollout"];
      releases: components["schemas"]["Release"][];
    };
    ReleaseTrial: {
      state: "NOT_TRIED" | "WAITING" | "RUNNING" | "PASSED" | "FAILED" | "SKIPPED";
      reason: string | null;
      lines: string[];
      workerId: string | null;
      servingVersion: number | null;
    };
    Rollout: {
      inProgress: boolean;
      workersOnLatest: number;
      workersTotal: number;
      percentOnLatest: number;
      paused: boolean;
      trial: components["schemas"]["ReleaseTrial"];
    };
    ReleaseImage: {
      releaseId: string;
      version: number;
      image: string;
      digest: string | null;
      /** Format: date-time */
      resolvedAt: string | null;
      isResolving: boolean;
      problem: string | null;
    };
    ReleaseImageList: {
      images: components["schemas"]["ReleaseImage"][];
    };
    ChangeRolloutRequest: {
      action: "pause" | "resume" | "try" | "skip-trial";
    };
    Template: {
      id: string;
      name: string;
      image: string;
      args: string;
      disk: number;
      ports: string[];
      env: {
        [key: string]: string;
      };
      registry: string | null;
      mounts: {
        persistent?: {
          size: number;
          path: string;
        };
      };
      serverless: boolean;
      public: boolean;
      category: "CPU" | "NVIDIA" | "AMD";
      startSsh: boolean;
      startJupyter: boolean;
      allowedCudaVersions: string[];
    };
    TemplateList: {
      templates: components["schemas"]["Template"][];
    };
    UpdateTemplateRequest: {
      name?: string;
      image?: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      registry?: string | null;
      mounts?: {
        persistent?: {
          size: number;
          path: string;
        };
      };
      serverless?: boolean;
      public?: boolean;
      category?: "CPU" | "NVIDIA" | "AMD";
      startSsh?: boolean;
      startJupyter?: boolean;
      allowedCudaVersions?: string[];
    };
    CreateTemplateRequest: {
      name: string;
      image: string;
      args?: string;
      disk?: number;
      ports?: string[];
      env?: {
        [key: string]: string;
      };
      registry?: string | null;
      entrypoint?: string[];
      cmd?: string[];
      mounts?: {
        persistent?: {
          size: number;
          path: string;
        };
      };
      serverless?: boolean;
      public?: boolean;
      category?: "CPU" | "NVIDIA" | "AMD";
      startSsh?: boolean;
      startJupyter?: boolean;
      allowedCudaVersions?: string[];
    };
    NetworkVolume: {
      id: string;
      name: string;
      size: number;
      dataCenter: string;
      type: "STANDARD" | "HIGH_PERFORMANCE";
      usedBytes: number;
    };
    NetworkVolumeList: {
      networkVolumes: components["schemas"]["NetworkVolume"][];
    };
    CreateNetworkVolumeRequest: {
      name: string;
      size: number;
      dataCenter: string;
      type?: "STANDARD" | "HIGH_PERFORMANCE";
    };
    UpdateNetworkVolumeRequest: {
      name?: string;
      size?: number;
    };
    Registry: {
      id: string;
      name: string;
    };
    RegistryList: {
      registries: components["schemas"]["Registry"][];
    };
    CreateRegistryRequest: {
      name: string;
      username: string;
      password: string;
    };
    Delegation: {
      id: string;
      name: string | null;
      delegatorUserId: string;
      awsUser: string;
      repository: string;
      tag: string;
      awsRegion: string;
      dockerRegistryUri: string;
      /** Format: date-time */
      createdAt: string;
    };
    DelegationList: {
      delegations: components["schemas"]["Delegation"][];
    };
    CreateDelegationRequest: {
      resource: string;
      name?: string | null;
    };
    GpuType: {
      id: string;
      name: string;
      pool: string | null;
      manufacturer: "NVIDIA" | "AMD" | "UNKNOWN";
      memory: number;
      secure: boolean;
      community: boolean;
      price: {
        secure: number;
        community: number;
        serverless?: number;
      };
      maxCount: {
        secure: number;
        community: number;
      };
      availability?: "NONE" | "LOW" | "MEDIUM" | "HIGH";
      dataCenters?: {
        id: string;
        name: string;
        availability: "NONE" | "LOW" | "MEDIUM" | "HIGH";
      }[];
      cudaVersions?: {
        version: string;
        available: boolean;
      }[];
    };
    GpuCapacity: {
      gpus: {
        id: string;
        name: string;
        pool: string;
        total: number;
        free: number;
      }[];
    };
    GpuTypeList: {
      gpus: components["schemas"]["GpuType"][];
    };
    CpuFlavor: {
      id: string;
      name: string;
      group: string;
      vcpu: {
        min: number;
        max: number;
      };
      ramGbPerVcpu: number;
      price: {
        securePerVcpu: number;
        serverlessPerVcpu: number;
      };
      availability?: "NONE" | "LOW" | "MEDIUM" | "HIGH";
      dataCenters?: {
        id: string;
        name: string;
        availability: "NONE" | "LOW" | "MEDIUM" | "HIGH";
      }[];
    };
    CpuFlavorList: {
      cpus: components["schemas"]["CpuFlavor"][];
    };
    DataCenter: {
      id: string;
      name: string;
      region: "NORTH_AMERICA" | "SOUTH_AMERICA" | "EUROPE" | "ASIA" | "MIDDLE_EAST" | "AFRICA" | "OCEANIA" | "ANTARCTICA" | "UNKNOWN";
      globalNetwork: boolean;
      networkVolumeTypes: ("STANDARD" | "HIGH_PERFORMANCE")[];
      compliance: ("GDPR" | "ISO_IEC_27001" | "ISO_14001" | "PCI_DSS" | "HITRUST" | "SOC_1_TYPE_2" | "SOC_2_TYPE_2" | "SOC_3_TYPE_2" | "ITAR" | "FISMA_HIGH" | "HIPAA" | "RENEWABLE")[];
      gpuAvailability?: {
        id: string;
        name: string;
        availability: "NONE" | "LOW" | "MEDIUM" | "HIGH";
      }[];
      cpuAvailability?: {
        id: string;
        name: string;
        availability: "NONE" | "LOW" | "MEDIUM" | "HIGH";
      }[];
    };
    DataCenterList: {
      dataCenters: components["schemas"]["DataCenter"][];
    };
    Billing: {
      records: {
        /** Format: date-time */
        startTime: string;
        /** Format: date-time */
        endTime: string;
        totalAmount: number;
        podGpuAmount: number;
        podCpuAmount: number;
        podDiskAmount: number;
        serverlessGpuAmount: number;
        serverlessCpuAmount: number;
        serverlessDiskAmount: number;
        serverlessFeeAmount: number;
        storageStandardAmount: number;
        storageHighPerformanceAmount: number;
        endpointAmount: number;
        clusterGpuAmount: number;
        clusterDiskAmount: number;
        clusterNetworkingAmount: number;
      }[];
      metadata: {
        query: {
          /** Format: date-time */
          startTime: string;
          /** Format: date-time */
          endTime: string;
          bucketSize: "hour" | "day" | "week" | "month" | "year";
        };
        recordCount: number;
        totals: {
          totalAmount: number;
          podGpuAmount: number;
          podCpuAmount: number;
          podDiskAmount: number;
          serverlessGpuAmount: number;
          serverlessCpuAmount: number;
          serverlessDiskAmount: number;
          serverlessFeeAmount: number;
          storageStandardAmount: number;
          storageHighPerformanceAmount: number;
          endpointAmount: number;
          clusterGpuAmount: number;
          clusterDiskAmount: number;
          clusterNetworkingAmount: number;
        };
      };
    };
    PodBilling: {
      records: {
        /** Format: date-time */
        startTime: string;
        /** Format: date-time */
        endTime: string;
        podId: string;
        totalAmount: number;
        gpuAmount: number;
        cpuAmount: number;
        diskAmount: number;
      }[];
      metadata: {
        query: {
          /** Format: date-time */
          startTime: string;
          /** Format: date-time */
          endTime: string;
          bucketSize: "hour" | "day" | "week" | "month" | "year";
          podId: string | null;
        };
        recordCount: number;
        uniquePodCount: number;
        totals: {
          totalAmount: number;
          gpuAmount: number;
          cpuAmount: number;
          diskAmount: number;
        };
      };
    };
    ServerlessBilling: {
      records: {
        /** Format: date-time */
        startTime: string;
        /** Format: date-time */
        endTime: string;
        serverlessId: string;
        totalAmount: number;
        gpuAmount: number;
        cpuAmount: number;
        diskAmount: number;
        feeAmount: number;
      }[];
      metadata: {
        query: {
          /** Format: date-time */
          startTime: string;
          /** Format: date-time */
          endTime: string;
          bucketSize: "hour" | "day" | "week" | "month" | "year";
          serverlessId: string | null;
        };
        recordCount: number;
        uniqueServerlessCount: number;
        totals: {
          totalAmount: number;
          gpuAmount: number;
          cpuAmount: number;
          diskAmount: number;
          feeAmount: number;
        };
      };
    };
    EndpointBilling: {
      records: {
        /** Format: date-time */
        startTime: string;
        /** Format: date-time */
        endTime: string;
        totalAmount: number;
      }[];
      metadata: {
        query: {
          /** Format: date-time */
          startTime: string;
          /** Format: date-time */
          endTime: string;
          bucketSize: "hour" | "day" | "week" | "month" | "year";
        };
        recordCount: number;
        totals: {
          totalAmount: number;
        };
      };
    };
    NetworkVolumeBilling: {
      records: {
        /** Format: date-time */
        startTime: string;
        /** Format: date-time */
        endTime: string;
        networkVolumeId: string;
        totalAmount: number;
        standardAmount: number;
        highPerformanceAmount: number;
      }[];
      metadata: {
        query: {
          /** Format: date-time */
          startTime: string;
          /** Format: date-time */
          endTime: string;
          bucketSize: "hour" | "day" | "week" | "month" | "year";
          networkVolumeId: string | null;
        };
        recordCount: number;
        uniqueNetworkVolumeCount: number;
        totals: {
          totalAmount: number;
          standardAmount: number;
          highPerformanceAmount: number;
        };
      };
    };
    ClusterBilling: {
      records: {
        /** Format: date-time */
        startTime: string;
        /** Format: date-time */
        endTime: string;
        clusterId: string;
        totalAmount: number;
        gpuAmount: number;
        diskAmount: number;
        networkingAmount: number;
      }[];
      metadata: {
        query: {
          /** Format: date-time */
          startTime: string;
          /** Format: date-time */
          endTime: string;
          bucketSize: "hour" | "day" | "week" | "month" | "year";
          clusterId: string | null;
        };
        recordCount: number;
        uniqueClusterCount: number;
        totals: {
          totalAmount: number;
          gpuAmount: number;
          diskAmount: number;
          networkingAmount: number;
        };
      };
    };
    Costs: {
      by: "product" | "endpoint" | "pod" | "cluster" | "volume" | "user";
      /** Format: date-time */
      startTime: string;
      /** Format: date-time */
      endTime: string;
      total: string;
      groups: {
        id: string;
        name: string | null;
        userId: string | null;
        userName: string | null;
        isDeleted: boolean;
        amount: string;
        gpuAmount: string;
        cpuAmount: string;
        storageAmount: string;
        gpuSeconds: number;
      }[];
      otherCount: number;
      otherAmount: string;
      series: string[];
      days: {
        day: string;
        amount: string;
        amounts: string[];
        other: string;
      }[];
    };
    CostForecast: {
      month: string;
      /** Format: date-time */
      startTime: string;
      /** Format: date-time */
      endTime: string;
      spent: string;
      forecast: string | null;
      low: string | null;
      high: string | null;
      basedOnDays: number;
      method: string;
    };
    AuditEntry: {
      seq: number;
      /** Format: date-time */
      at: string;
      operation: string;
      recordId: string | null;
      recordName: string | null;
      ownerId: string | null;
      ownerName: string | null;
      actorKind: "session" | "key" | "system" | "operator" | "unknown";
      actorId: string | null;
      actorName: string | null;
      keyId: string | null;
      keyName: string | null;
      sessionId: string | null;
      interface: string;
      address: string | null;
      requestId: string | null;
      outcome: "done" | "refused" | "failed";
      reason: string | null;
      repeats: number;
      changes: {
        [key: string]: unknown[];
      } | null;
    };
    AuditList: {
      entries: components["schemas"]["AuditEntry"][];
      nextCursor: string | null;
    };
    Budget: {
      id: string;
      userId: string;
      userName: string;
      endpointId: string | null;
      endpointName: string | null;
      isByAdmin: boolean;
      amount: string;
      action: "NOTIFY" | "STOP";
      notifyAt: number[];
      webhook: string | null;
      month: string;
      spent: string;
      isStopped: boolean;
      passed: number[];
    };
    BudgetList: {
      budgets: components["schemas"]["Budget"][];
    };
    CreateBudgetRequest: {
      amount: string;
      endpointId?: string | null;
      userId?: string;
      action?: "NOTIFY" | "STOP";
      notifyAt?: number[];
      webhook?: string | null;
    };
    UpdateBudgetRequest: {
      amount?: string;
      action?: "NOTIFY" | "STOP";
      notifyAt?: number[];
      webhook?: string | null;
    };
    NoticeDestination: {
      id: string;
      scope: "ACCOUNT" | "INSTALLATION";
      name: string;
      kind: "EMAIL" | "WEBHOOK" | "SLACK" | "TEAMS";
      address: string;
      events: ("ENDPOINT_FAILING" | "WAITING_FOR_CAPACITY" | "QUEUE_SLOW" | "BUDGET" | "KEY_EXPIRES" | "DISK" | "LEADER_CHANGED" | "AUDIT_STREAM" | "UPDATE_AVAILABLE")[];
      waitMinutes: number;
      enabled: boolean;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      lastSentAt: string | null;
      lastError: string | null;
      waiting: number;
    };
    CreatedNoticeDestination: {
      id: string;
      scope: "ACCOUNT" | "INSTALLATION";
      name: string;
      kind: "EMAIL" | "WEBHOOK" | "SLACK" | "TEAMS";
      address: string;
      events: ("ENDPOINT_FAILING" | "WAITING_FOR_CAPACITY" | "QUEUE_SLOW" | "BUDGET" | "KEY_EXPIRES" | "DISK" | "LEADER_CHANGED" | "AUDIT_STREAM" | "UPDATE_AVAILABLE")[];
      waitMinutes: number;
      enabled: boolean;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      lastSentAt: string | null;
      lastError: string | null;
      waiting: number;
      signingSecret: string | null;
    };
    NoticeDestinationList: {
      destinations: components["schemas"]["NoticeDestination"][];
    };
    CreateNoticeDestinationRequest: {
      name: string;
      kind: "EMAIL" | "WEBHOOK" | "SLACK" | "TEAMS";
      scope?: "ACCOUNT" | "INSTALLATION";
      email?: string;
      url?: string;
      events?: ("ENDPOINT_FAILING" | "WAITING_FOR_CAPACITY" | "QUEUE_SLOW" | "BUDGET" | "KEY_EXPIRES" | "DISK" | "LEADER_CHANGED" | "AUDIT_STREAM" | "UPDATE_AVAILABLE")[];
      waitMinutes?: number;
    };
    UpdateNoticeDestinationRequest: {
      name?: string;
      email?: string;
      url?: string;
      events?: ("ENDPOINT_FAILING" | "WAITING_FOR_CAPACITY" | "QUEUE_SLOW" | "BUDGET" | "KEY_EXPIRES" | "DISK" | "LEADER_CHANGED" | "AUDIT_STREAM" | "UPDATE_AVAILABLE")[];
      waitMinutes?: number;
      enabled?: boolean;
    };
    NoticeTest: {
      delivered: boolean;
      error: string | null;
    };
    NoticeDeliveryList: {
      deliveries: {
        id: string;
        /** Format: date-time */
        createdAt: string;
        status: "WAITING" | "SENT" | "GIVEN_UP";
        items: {
          event: "ENDPOINT_FAILING" | "WAITING_FOR_CAPACITY" | "QUEUE_SLOW" | "BUDGET" | "KEY_EXPIRES" | "DISK" | "LEADER_CHANGED" | "AUDIT_STREAM" | "UPDATE_AVAILABLE" | "TEST";
          phase: "BEGAN" | "ENDED";
          name: string | null;
          owner: string | null;
          detail: string;
        }[];
        more: number;
        attempts: number;
        /** Format: date-time */
        sentAt: string | null;
        /** Format: date-time */
        nextAttemptAt: string | null;
        error: string | null;
      }[];
    };
    Build: {
      id: string;
      name: string;
      status: "QUEUED" | "BUILDING" | "PUSHING" | "COMPLETED" | "FAILED" | "CANCELLED";
      image: string | null;
      digest: string | null;
      sizeBytes: number | null;
      reason: string | null;
      failedStep: string | null;
      steps: {
        name: string;
        status: "RUNNING" | "COMPLETED" | "CACHED" | "FAILED";
        /** Format: date-time */
        startedAt: string;
        /** Format: date-time */
        endedAt: string | null;
      }[];
      source: {
        type: "UPLOAD" | "GIT";
        url?: string;
        commit?: string;
        ref?: string;
        author?: string;
        message?: string;
      };
      endpointId: string | null;
      retryOf: string | null;
      contentHash: string;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      startedAt: string | null;
      /** Format: date-time */
      endedAt: string | null;
    };
    BuildList: {
      builds: components["schemas"]["Build"][];
    };
    BuildPage: {
      builds: components["schemas"]["Build"][];
      nextCursor: string | null;
    };
    CreateBuildRequest: {
      name: string;
      files: ({
        path: string;
        digest?: string;
        size?: number;
        mode?: number;
        link?: string;
      } & (unknown | unknown))[];
      recipe: {
        language: "dockerfile" | "python" | "javascript";
        dockerfile: string | null;
        target: string | null;
        base: string | null;
        version: string | null;
        /** @enum {string|null} */
        installer: "pip" | "uv" | "npm" | "pnpm" | "yarn" | null;
        lockFiles: string[];
        systemPackages: string[];
        secretIds: string[];
        buildCommand: string[] | null;
        entry: {
          kind: "handler" | "program";
          file?: string;
          name?: string;
          command?: string[];
        } | null;
      };
      args?: {
        [key: string]: string;
      };
      secrets?: {
        [key: string]: string;
      };
      registries?: {
        [key: string]: string;
      };
      usesCache?: boolean;
      endpointId?: string;
    };
    MissingFilesRequest: {
      files: {
        digest: string;
        size: number;
      }[];
    };
    MissingFiles: {
      missing: string[];
      partial: {
        digest: string;
        bytes: number;
      }[];
    };
    ReplaceGitSourceRequest: {
      url: string;
      branch?: string;
      tags?: string;
      folder?: string;
      build?: {
        dockerfile?: string;
        target?: string;
        args?: {
          [key: string]: string;
        };
        handler?: string;
        command?: string[];
        base?: string;
        python?: string;
        node?: string;
        systemPackages?: string[];
        secrets?: {
          [key: string]: string;
        };
        registries?: {
          [key: string]: string;
        };
      };
      applySettings?: boolean;
      /**
       * @default {
       *     "type": "NONE"
       *   }
       */
      auth?: {
        type: "NONE" | "TOKEN" | "DEPLOY_KEY";
        secret?: string;
      };
      pollSeconds?: number | null;
      statuses?: "NONE" | "GITHUB" | "GITLAB" | "GITEA";
      rotateWebhookSecret?: boolean;
    };
    GitSource: {
      id: string;
      endpointId: string;
      url: string;
      branch: string | null;
      tags: string | null;
      folder: string;
      build: {
        dockerfile?: string;
        target?: string;
        args?: {
          [key: string]: string;
        };
        handler?: string;
        command?: string[];
        base?: string;
        python?: string;
        node?: string;
        systemPackages?: string[];
        secrets?: {
          [key: string]: string;
        };
        registries?: {
          [key: string]: string;
        };
      };
      applySettings: boolean;
      auth: {
        type: "NONE" | "TOKEN" | "DEPLOY_KEY";
        secret: string | null;
        publicKey: string | null;
      };
      pollSeconds: number | null;
      statuses: "NONE" | "GITHUB" | "GITLAB" | "GITEA";
      statusError: string | null;
      webhookUrl: string;
      webhookSecret: string | null;
      isLooking: boolean;
      lastCommit: string | null;
      lastRef: string | null;
      lastError: string | null;
      /** Format: date-time */
      lastLookedAt: string | null;
      lastBuildId: string | null;
      /** Format: date-time */
      createdAt: string;
    };
    GitHookResult: {
      look: boolean;
      ignored: string | null;
    };
    ReplaceEndpointModelsRequest: {
      models: {
        source: string;
        include?: string[];
        exclude?: string[];
        tokenSecret?: string | null;
      }[];
    };
    ResolveModelsRequest: {
      models: {
        source: string;
        include?: string[];
        exclude?: string[];
        tokenSecret?: string | null;
      }[];
    };
    EndpointModels: {
      models: {
        id: string;
        source: string;
        name: string;
        revision: string | null;
        commit: string;
        include: string[];
        exclude: string[];
        tokenSecret: string | null;
        bytes: number;
        files: number;
        problem: string | null;
      }[];
    };
    ResolvedModels: {
      models: {
        id: string;
        source: string;
        name: string;
        revision: string | null;
        commit: string;
        include: string[];
        exclude: string[];
        tokenSecret: string | null;
        bytes: number;
        files: number;
        task: string | null;
        content: {
          path: string;
          bytes: number;
        }[];
      }[];
      recipes: {
        name: string;
        tasks: string[];
        needs: string[];
        exclude: string[];
        image: string;
        args: string;
        port: number;
        env: {
          [key: string]: string;
        };
        memory: {
          factor: number;
          gb: number;
        };
        flashboot: "OFF" | "FLASHBOOT" | "PRIORITY_FLASHBOOT";
        idleTimeout: number;
        call: {
          path: string;
          body?: {
            [key: string]: unknown;
          };
          file?: string;
        };
      }[];
    };
    S3Key: {
      id: string;
      name: string;
      scopes: string[];
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      expiresAt: string | null;
      /** Format: date-time */
      lastUsedAt: string | null;
    };
    S3KeyList: {
      s3Keys: components["schemas"]["S3Key"][];
    };
    CreateS3KeyRequest: {
      name: string;
      scopes: string[];
      /** Format: date-time */
      expiresAt?: string | null;
    };
    CreatedS3Key: {
      id: string;
      name: string;
      scopes: string[];
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      expiresAt: string | null;
      /** Format: date-time */
      lastUsedAt: string | null;
      secret: string;
    };
    Account: {
      id: string;
      name: string;
      email: string | null;
      /** Format: date-time */
      createdAt: string;
      role: "ADMIN" | "USER" | "AUDITOR" | "BILLING";
    };
    ApiKey: {
      id: string;
      name: string;
      scopes: string[];
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      expiresAt: string | null;
      /** @enum {string|null} */
      restRevision: "2026-07" | "2026-08" | null;
      /** Format: date-time */
      lastUsedAt: string | null;
      allowedAddresses: string[];
      disabled: boolean;
      createdBy: {
        userId: string;
        userName: string | null;
        keyId: string | null;
        keyName: string | null;
      } | null;
    };
    ApiKeyList: {
      apiKeys: components["schemas"]["ApiKey"][];
    };
    CreateApiKeyRequest: {
      name: string;
      scopes: string[];
      /** Format: date-time */
      expiresAt?: string | null;
      /** @enum {string|null} */
      restRevision?: "2026-07" | "2026-08" | null;
      allowedAddresses?: string[];
    };
    UpdateApiKeyRequest: {
      name?: string;
      scopes?: string[];
      /** Format: date-time */
      expiresAt?: string | null;
      allowedAddresses?: string[];
      disabled?: boolean;
    };
    RotateApiKeyRequest: {
      overlapHours?: number;
    };
    CreatedApiKey: {
      id: string;
      name: string;
      scopes: string[];
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      expiresAt: string | null;
      /** @enum {string|null} */
      restRevision: "2026-07" | "2026-08" | null;
      /** Format: date-time */
      lastUsedAt: string | null;
      allowedAddresses: string[];
      disabled: boolean;
      createdBy: {
        userId: string;
        userName: string | null;
        keyId: string | null;
        keyName: string | null;
      } | null;
      secret: string;
    };
    ReplaceSshKeysRequest: {
      sshKeys?: string[];
      keys?: string[];
    } & (unknown | unknown);
    Team: {
      id: string;
      name: string;
      status: "ACTIVE" | "SUSPENDED" | "DELETING";
      role: ("VIEWER" | "DEVELOPER" | "OPERATOR" | "OWNER") | null;
      members: number;
      /** Format: date-time */
      createdAt: string;
    };
    TeamList: {
      teams: components["schemas"]["Team"][];
    };
    CreateTeamRequest: {
      name: string;
      ownerId?: string;
    };
    UpdateTeamRequest: {
      name: string;
    };
    TeamMember: {
      userId: string;
      name: string;
      role: "VIEWER" | "DEVELOPER" | "OPERATOR" | "OWNER";
      isSuspended: boolean;
      /** Format: date-time */
      joinedAt: string;
    };
    TeamMemberList: {
      members: components["schemas"]["TeamMember"][];
    };
    AddTeamMemberRequest: {
      userId: string;
      role: "VIEWER" | "DEVELOPER" | "OPERATOR" | "OWNER";
    };
    UpdateTeamMemberRequest: {
      role: "VIEWER" | "DEVELOPER" | "OPERATOR" | "OWNER";
    };
    CreateInvitationRequest: {
      expiresInHours?: number;
    };
    Invitation: {
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      expiresAt: string;
    };
    CreatedInvitation: {
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      expiresAt: string;
      url: string;
    };
    UserAccount: {
      userId: string;
      name: string;
      limits: components["schemas"]["Limits"];
      own: components["schemas"]["OwnLimits"];
      usage: {
        endpoints: number;
        pods: number;
        workers: number;
        gpus: number;
        queuedJobs: number;
        queuedBytes: number;
        logBytesToday: number;
      };
      quotas: {
        workers: components["schemas"]["QuotaUse"];
        gpus: components["schemas"]["QuotaUse"];
      };
      email: string | null;
      role: "ADMIN" | "USER" | "AUDITOR" | "BILLING";
      /** Format: date-time */
      createdAt: string;
      apiKeys: number;
      /** Format: date-time */
      lastUsedAt: string | null;
      suspension: {
        /** Format: date-time */
        since: string;
        by: string | null;
        reason: string | null;
        workloads: "KEEP" | "STOP";
      } | null;
      removal: {
        /** Format: date-time */
        since: string;
        remaining: {
          endpoints: number;
          workers: number;
          clusters: number;
          pods: number;
          volumes: number;
          templates: number;
          secrets: number;
          registries: number;
        };
      } | null;
    };
    UserAccountList: {
      users: components["schemas"]["UserAccount"][];
      next: string | null;
    };
    CreateUserRequest: {
      name: string;
      email?: string | null;
      role?: "ADMIN" | "USER" | "AUDITOR" | "BILLING";
      key?: {
        name?: string;
        scopes?: string[];
        /** Format: date-time */
        expiresAt?: string | null;
        /** @enum {string|null} */
        restRevision?: "2026-07" | "2026-08" | null;
        allowedAddresses?: string[];
      } | null;
    };
    CreatedUser: {
      userId: string;
      name: string;
      limits: components["schemas"]["Limits"];
      own: components["schemas"]["OwnLimits"];
      usage: {
        endpoints: number;
        pods: number;
        workers: number;
        gpus: number;
        queuedJobs: number;
        queuedBytes: number;
        logBytesToday: number;
      };
      quotas: {
        workers: components["schemas"]["QuotaUse"];
        gpus: components["schemas"]["QuotaUse"];
      };
      email: string | null;
      role: "ADMIN" | "USER" | "AUDITOR" | "BILLING";
      /** Format: date-time */
      createdAt: string;
      apiKeys: number;
      /** Format: date-time */
      lastUsedAt: string | null;
      suspension: {
        /** Format: date-time */
        since: string;
        by: string | null;
        reason: string | null;
        workloads: "KEEP" | "STOP";
      } | null;
      removal: {
        /** Format: date-time */
        since: string;
        remaining: {
          endpoints: number;
          workers: number;
          clusters: number;
          pods: number;
          volumes: number;
          templates: number;
          secrets: number;
          registries: number;
        };
      } | null;
      key: components["schemas"]["CreatedApiKey"] | null;
    };
    UpdateUserRequest: {
      email?: string | null;
      role?: "ADMIN" | "USER" | "AUDITOR" | "BILLING";
    };
    SuspendUserRequest: {
      workloads?: "KEEP" | "STOP";
      reason?: string | null;
    };
    RemovalPlan: {
      owned: {
        endpoints: number;
        workers: number;
        clusters: number;
        pods: number;
        volumes: number;
        templates: number;
        secrets: number;
        registries: number;
      };
      renamed: {
        kind: "template" | "secret";
        id: string;
        from: string;
        to: string;
      }[];
      exceeded: string[];
    };
    UserRateLimit: {
      exempt: boolean;
      minute: number | null;
      hour: number | null;
      day: number | null;
    };
    Session: {
      id: string;
      madeBy: "KEY" | "OIDC" | "PASSWORD" | "PASSKEY" | "PROXY";
      madeWith: string | null;
      userAgent: string | null;
      address: string | null;
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      lastUsedAt: string;
      /** Format: date-time */
      endsAt: string;
      isCurrent: boolean;
    };
    SessionList: {
      sessions: components["schemas"]["Session"][];
    };
    CreatePodTerminalRequest: {
      command?: string[];
      terminal?: {
        columns: number;
        rows: number;
      } | null;
      input?: boolean;
    };
    CreateWorkerTerminalRequest: {
      command?: string[];
      terminal?: {
        columns: number;
        rows: number;
      } | null;
      input?: boolean;
      workerId?: string | null;
    };
    TerminalSession: {
      id: string;
      userId: string;
      userName: string;
      keyId: string;
      keyName: string;
      podId: string | null;
      endpointId: string | null;
      workerId: string | null;
      program: string;
      hasTerminal: boolean;
      status: "PENDING" | "OPEN" | "ENDED";
      clientAddress: string | null;
      /** Format: date-time */
      createdAt: string;
      openedAt: string | null;
      endedAt: string | null;
      exitCode: number | null;
      endReason: string | null;
    };
    TerminalTicket: {
      session: components["schemas"]["TerminalSession"];
      url: string;
      protocols: string[];
    };
    TerminalList: {
      terminals: components["schemas"]["TerminalSession"][];
    };
    Secret: {
      id: string;
      name: string;
      description: string | null;
      usedBy: {
        kind: "template" | "endpoint" | "pod";
        id: string;
        name: string;
      }[];
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    SecretList: {
      secrets: components["schemas"]["Secret"][];
    };
    CreateSecretRequest: {
      name: string;
      value: string;
      description?: string | null;
    };
    UpdateSecretRequest: {
      value?: string;
      description?: string | null;
    };
    SshKeyList: {
      keys: string[];
    };
  };
  responses: {
    Unauthorized: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    AnyOtherError: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    Forbidden: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    TooManyRequests: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    InternalServerError: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    ServiceUnavailable: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    UnprocessableEntity: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    NotFound: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    BadRequest: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    ContentTooLarge: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    UnsupportedMediaType: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
    Conflict: {
      content: {
        "application/problem+json": components["schemas"]["ErrorResponse"];
      };
    };
  };
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  listPods: {
    parameters: {
      query?: {
        include?: string;
        includeClusterPods?: boolean;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodList"];
        };
      };
    };
  };
  createPod: {
    parameters: {
      query?: {
        private?: boolean;
        stopAfter?: string;
        terminateAfter?: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreatePodRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Pod"];
        };
      };
    };
  };
  watchPods: {
    parameters: {};
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  getPod: {
    parameters: {
      query?: {
        include?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Pod"];
        };
      };
    };
  };
  deletePod: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updatePod: {
    parameters: {
      query?: {
        mergeEnv?: boolean;
        unsetEnv?: string;
      };
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdatePodRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Pod"];
        };
      };
    };
  };
  podAction: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PodActionRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Pod"];
        };
      };
      204: {};
    };
  };
  getPodAccess: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodAccess"];
        };
      };
    };
  };
  setPodAccess: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PodAccess"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodAccess"];
        };
      };
    };
  };
  getPodLifetime: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodLifetime"];
        };
      };
    };
  };
  setPodLifetime: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PodLifetime"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodLifetime"];
        };
      };
    };
  };
  getPodJupyter: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodJupyter"];
        };
      };
    };
  };
  listClusters: {
    parameters: {
      query?: {
        include?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ClusterList"];
        };
      };
    };
  };
  createCluster: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateClusterRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Cluster"];
        };
      };
    };
  };
  getCluster: {
    parameters: {
      query?: {
        include?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Cluster"];
        };
      };
    };
  };
  deleteCluster: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateCluster: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateClusterRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Cluster"];
        };
      };
    };
  };
  listClusterPods: {
    parameters: {
      query?: {
        include?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodList"];
        };
      };
    };
  };
  listEndpoints: {
    parameters: {
      query?: {
        include?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointList"];
        };
      };
    };
  };
  createEndpoint: {
    parameters: {
      query?: {
        leaseSeconds?: number;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateEndpointRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Endpoint"];
        };
      };
    };
  };
  getEndpoint: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Endpoint"];
        };
      };
    };
  };
  deleteEndpoint: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateEndpoint: {
    parameters: {
      query?: {
        mergeEnv?: boolean;
        unsetEnv?: string;
      };
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateEndpointRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Endpoint"];
        };
      };
    };
  };
  getEndpointState: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointState"];
        };
      };
    };
  };
  listDecisions: {
    parameters: {
      query?: {
        limit?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DecisionList"];
        };
      };
    };
  };
  listEndpointFigures: {
    parameters: {
      query?: {
        ids?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointFiguresList"];
        };
      };
    };
  };
  watchEndpoint: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  listBuilds: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["BuildList"];
        };
      };
    };
  };
  getBuild: {
    parameters: {
      path: {
        id: string;
        buildId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Build"];
        };
      };
    };
  };
  getBuildLogs: {
    parameters: {
      header?: {
        "last-event-id"?: string;
      };
      path: {
        id: string;
        buildId: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  listEndpointWorkers: {
    parameters: {
      query?: {
        include?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WorkerList"];
        };
      };
    };
  };
  getWorker: {
    parameters: {
      query?: {
        include?: string;
      };
      path: {
        id: string;
        workerId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WorkerDetail"];
        };
      };
    };
  };
  createPodTerminal: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreatePodTerminalRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["TerminalTicket"];
        };
      };
    };
  };
  createWorkerTerminal: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateWorkerTerminalRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["TerminalTicket"];
        };
      };
    };
  };
  listTerminals: {
    parameters: {
      query?: {
        user?: "me" | "all";
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TerminalList"];
        };
      };
    };
  };
  endTerminal: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  getPodLogs: {
    parameters: {
      query?: {
        source?: "container" | "system";
        tail?: number;
        since?: string;
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        include?: string;
      };
      header?: {
        "last-event-id"?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  getWorkerLogs: {
    parameters: {
      query?: {
        source?: "container" | "system";
        tail?: number;
        since?: string;
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        include?: string;
      };
      header?: {
        "last-event-id"?: string;
      };
      path: {
        id: string;
        workerId: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  getEndpointLogs: {
    parameters: {
      query?: {
        source?: "container" | "system";
        tail?: number;
        since?: string;
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        workerId?: string;
      };
      header?: {
        "last-event-id"?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  listEndpointLogLines: {
    parameters: {
      query?: {
        source?: "container" | "system";
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        since?: string;
        until?: string;
        order?: "newest" | "oldest";
        limit?: number;
        cursor?: string;
        include?: string;
        workerId?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["LogLines"];
        };
      };
    };
  };
  listPodLogLines: {
    parameters: {
      query?: {
        source?: "container" | "system";
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        since?: string;
        until?: string;
        order?: "newest" | "oldest";
        limit?: number;
        cursor?: string;
        include?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["LogLines"];
        };
      };
    };
  };
  downloadEndpointLog: {
    parameters: {
      query?: {
        source?: "container" | "system";
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        since?: string;
        until?: string;
        workerId?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  downloadPodLog: {
    parameters: {
      query?: {
        source?: "container" | "system";
        level?: "DEBUG" | "INFO" | "WARN" | "ERROR";
        search?: string;
        since?: string;
        until?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  listJobs: {
    parameters: {
      query?: {
        status?: string;
        since?: string;
        until?: string;
        workerId?: string;
        error?: string;
        limit?: number;
        cursor?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["JobList"];
        };
      };
    };
  };
  getJob: {
    parameters: {
      path: {
        id: string;
        jobId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["JobDetail"];
        };
      };
    };
  };
  getJobInput: {
    parameters: {
      path: {
        id: string;
        jobId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": unknown;
        };
      };
    };
  };
  getJobOutput: {
    parameters: {
      path: {
        id: string;
        jobId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": unknown;
        };
      };
    };
  };
  getJobError: {
    parameters: {
      path: {
        id: string;
        jobId: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  getEndpointHistory: {
    parameters: {
      query?: {
        range?: "1h" | "24h" | "7d" | "30d";
        step?: 60 | 300 | 3600;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["History"];
        };
      };
    };
  };
  getInstallationHistory: {
    parameters: {
      query?: {
        range?: "1h" | "24h" | "7d" | "30d";
        step?: 60 | 300 | 3600;
        pool?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["History"];
        };
      };
    };
  };
  renewEndpointLease: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RenewLeaseRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointLease"];
        };
      };
    };
  };
  getSchedule: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Schedule"];
        };
      };
    };
  };
  replaceSchedule: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplaceScheduleRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Schedule"];
        };
      };
    };
  };
  deleteSchedule: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  getWorkloadOptions: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WorkloadOptions"];
        };
      };
    };
  };
  replaceWorkloadOptions: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplaceWorkloadOptionsRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WorkloadOptions"];
        };
      };
    };
  };
  getGitSource: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GitSource"];
        };
      };
    };
  };
  replaceGitSource: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplaceGitSourceRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GitSource"];
        };
      };
    };
  };
  deleteGitSource: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  syncGitSource: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["GitSource"];
        };
      };
    };
  };
  receiveGitWebhook: {
    parameters: {
      path: {
        sourceId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GitHookResult"];
        };
      };
      202: {
        content: {
          "application/json": components["schemas"]["GitHookResult"];
        };
      };
    };
  };
  getGpuRule: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GpuRule"];
        };
      };
    };
  };
  replaceGpuRule: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplaceGpuRuleRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GpuRule"];
        };
      };
    };
  };
  getEndpointModels: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointModels"];
        };
      };
    };
  };
  replaceEndpointModels: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplaceEndpointModelsRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointModels"];
        };
      };
    };
  };
  resolveModels: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["ResolveModelsRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ResolvedModels"];
        };
      };
    };
  };
  listEndpointReleases: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ReleaseList"];
        };
      };
    };
  };
  listReleaseImages: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ReleaseImageList"];
        };
      };
    };
  };
  rollbackRelease: {
    parameters: {
      path: {
        id: string;
        releaseId: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Endpoint"];
        };
      };
    };
  };
  changeRollout: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ChangeRolloutRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Rollout"];
        };
      };
    };
  };
  findMissingFiles: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["MissingFilesRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MissingFiles"];
        };
      };
    };
  };
  storeBuildFile: {
    parameters: {
      path: {
        digest: string;
      };
    };
    requestBody: {
      content: {
        "application/octet-stream": unknown;
      };
    };
    responses: {
      204: {};
    };
  };
  storeBuildFiles: {
    parameters: {};
    requestBody: {
      content: {
        "application/octet-stream": unknown;
      };
    };
    responses: {
      204: {};
    };
  };
  listAllBuilds: {
    parameters: {
      query?: {
        name?: string;
        endpointId?: string;
        contentHash?: string;
        limit?: number;
        cursor?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["BuildPage"];
        };
      };
    };
  };
  createBuild: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateBuildRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Build"];
        };
      };
    };
  };
  getAnyBuild: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Build"];
        };
      };
    };
  };
  cancelBuild: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Build"];
        };
      };
    };
  };
  retryBuild: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Build"];
        };
      };
    };
  };
  streamBuildLog: {
    parameters: {
      header?: {
        "last-event-id"?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  listTemplates: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TemplateList"];
        };
      };
    };
  };
  createTemplate: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateTemplateRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Template"];
        };
      };
    };
  };
  getTemplate: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Template"];
        };
      };
    };
  };
  deleteTemplate: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateTemplate: {
    parameters: {
      query?: {
        mergeEnv?: boolean;
        unsetEnv?: string;
      };
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateTemplateRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Template"];
        };
      };
    };
  };
  listNetworkVolumes: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NetworkVolumeList"];
        };
      };
    };
  };
  createNetworkVolume: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateNetworkVolumeRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["NetworkVolume"];
        };
      };
    };
  };
  getNetworkVolume: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NetworkVolume"];
        };
      };
    };
  };
  deleteNetworkVolume: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateNetworkVolume: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateNetworkVolumeRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NetworkVolume"];
        };
      };
    };
  };
  listRegistries: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["RegistryList"];
        };
      };
    };
  };
  createRegistry: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateRegistryRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Registry"];
        };
      };
    };
  };
  getRegistry: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Registry"];
        };
      };
    };
  };
  deleteRegistry: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  listRegistryDelegations: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DelegationList"];
        };
      };
    };
  };
  createRegistryDelegation: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateDelegationRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Delegation"];
        };
      };
    };
  };
  deleteRegistryDelegation: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  listGpuTypes: {
    parameters: {
      query?: {
        include?: "AVAILABILITY";
        count?: number;
        cloud?: "SECURE" | "COMMUNITY";
        minCudaVersion?: string;
        cudaVersions?: string;
        countryCodes?: string;
        product?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GpuTypeList"];
        };
      };
    };
  };
  getGpuType: {
    parameters: {
      query?: {
        include?: "AVAILABILITY";
        count?: number;
        cloud?: "SECURE" | "COMMUNITY";
        minCudaVersion?: string;
        cudaVersions?: string;
        countryCodes?: string;
        product?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GpuType"];
        };
      };
    };
  };
  getGpuCapacity: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["GpuCapacity"];
        };
      };
    };
  };
  listCpuFlavors: {
    parameters: {
      query?: {
        include?: "AVAILABILITY";
        vcpuCount?: number;
        product?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["CpuFlavorList"];
        };
      };
    };
  };
  getCpuFlavor: {
    parameters: {
      query?: {
        include?: "AVAILABILITY";
        vcpuCount?: number;
        product?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["CpuFlavor"];
        };
      };
    };
  };
  listDataCenters: {
    parameters: {
      query?: {
        include?: string;
        regions?: string;
        networkVolumeTypes?: string;
        compliance?: string;
        globalNetwork?: boolean;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DataCenterList"];
        };
      };
    };
  };
  getDataCenter: {
    parameters: {
      query?: {
        include?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DataCenter"];
        };
      };
    };
  };
  listPublicTemplates: {
    parameters: {
      query?: {
        source?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TemplateList"];
        };
      };
    };
  };
  getBilling: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Billing"];
        };
      };
    };
  };
  getPodBilling: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
        podId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PodBilling"];
        };
      };
    };
  };
  getServerlessBilling: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
        serverlessId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ServerlessBilling"];
        };
      };
    };
  };
  getEndpointBilling: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndpointBilling"];
        };
      };
    };
  };
  getNetworkVolumeBilling: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
        networkVolumeId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NetworkVolumeBilling"];
        };
      };
    };
  };
  getNetworkVolumeBillingAlias: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
        networkVolumeId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NetworkVolumeBilling"];
        };
      };
    };
  };
  getClusterBilling: {
    parameters: {
      query?: {
        startTime?: string;
        endTime?: string;
        bucketSize?: "hour" | "day" | "week" | "month" | "year";
        lastN?: number;
        clusterId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ClusterBilling"];
        };
      };
    };
  };
  getCosts: {
    parameters: {
      query?: {
        by?: "product" | "endpoint" | "pod" | "cluster" | "volume" | "user";
        startTime?: string;
        endTime?: string;
        lastN?: number;
        userId?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Costs"];
        };
      };
    };
  };
  exportCosts: {
    parameters: {
      query?: {
        by?: "product" | "endpoint" | "pod" | "cluster" | "volume" | "user";
        startTime?: string;
        endTime?: string;
        lastN?: number;
        userId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "text/csv": string;
        };
      };
    };
  };
  getCostForecast: {
    parameters: {
      query?: {
        userId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["CostForecast"];
        };
      };
    };
  };
  listAudit: {
    parameters: {
      query?: {
        userId?: string;
        actorId?: string;
        operation?: string;
        recordId?: string;
        outcome?: "done" | "refused" | "failed";
        since?: string;
        until?: string;
        limit?: number;
        cursor?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AuditList"];
        };
      };
    };
  };
  exportAudit: {
    parameters: {
      query?: {
        userId?: string;
        actorId?: string;
        operation?: string;
        recordId?: string;
        outcome?: "done" | "refused" | "failed";
        since?: string;
        until?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/x-ndjson": string;
        };
      };
    };
  };
  listBudgets: {
    parameters: {
      query?: {
        userId?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["BudgetList"];
        };
      };
    };
  };
  createBudget: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateBudgetRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Budget"];
        };
      };
    };
  };
  deleteBudget: {
    parameters: {
      path: {
        budgetId: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateBudget: {
    parameters: {
      path: {
        budgetId: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateBudgetRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Budget"];
        };
      };
    };
  };
  getAccount: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Account"];
        };
      };
    };
  };
  watchAccount: {
    parameters: {};
    responses: {
      200: {
        content: {
          "text/event-stream": string;
        };
      };
    };
  };
  listApiKeys: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ApiKeyList"];
        };
      };
    };
  };
  createApiKey: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateApiKeyRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedApiKey"];
        };
      };
    };
  };
  deleteApiKey: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateApiKey: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateApiKeyRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ApiKey"];
        };
      };
    };
  };
  rotateApiKey: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RotateApiKeyRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedApiKey"];
        };
      };
    };
  };
  listSshKeys: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SshKeyList"];
        };
      };
    };
  };
  replaceSshKeys: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["ReplaceSshKeysRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SshKeyList"];
        };
      };
    };
  };
  getOwnLimits: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserLimits"];
        };
      };
    };
  };
  getUserLimits: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserLimits"];
        };
      };
    };
  };
  updateUserLimits: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateLimitsRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserLimits"];
        };
      };
    };
  };
  getInstallationLimits: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["InstallationLimits"];
        };
      };
    };
  };
  updateInstallationLimits: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateLimitsRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["InstallationLimits"];
        };
      };
    };
  };
  listUsers: {
    parameters: {
      query?: {
        limit?: number;
        after?: string;
        search?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserAccountList"];
        };
      };
    };
  };
  createUser: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateUserRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedUser"];
        };
      };
    };
  };
  getUser: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserAccount"];
        };
      };
    };
  };
  deleteUser: {
    parameters: {
      query?: {
        handOverTo?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["UserAccount"];
        };
      };
    };
  };
  updateUser: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateUserRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserAccount"];
        };
      };
    };
  };
  suspendUser: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SuspendUserRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserAccount"];
        };
      };
    };
  };
  resumeUser: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserAccount"];
        };
      };
    };
  };
  planUserRemoval: {
    parameters: {
      query?: {
        handOverTo?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["RemovalPlan"];
        };
      };
    };
  };
  getUserRateLimit: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserRateLimit"];
        };
      };
    };
  };
  replaceUserRateLimit: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UserRateLimit"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserRateLimit"];
        };
      };
    };
  };
  listUserApiKeys: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ApiKeyList"];
        };
      };
    };
  };
  createUserApiKey: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateApiKeyRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedApiKey"];
        };
      };
    };
  };
  deleteUserApiKey: {
    parameters: {
      path: {
        id: string;
        keyId: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateUserApiKey: {
    parameters: {
      path: {
        id: string;
        keyId: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateApiKeyRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ApiKey"];
        };
      };
    };
  };
  rotateUserApiKey: {
    parameters: {
      path: {
        id: string;
        keyId: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RotateApiKeyRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedApiKey"];
        };
      };
    };
  };
  getInvitation: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Invitation"];
        };
      };
    };
  };
  createInvitation: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateInvitationRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedInvitation"];
        };
      };
    };
  };
  deleteInvitation: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  removeUserPassword: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  listTeams: {
    parameters: {
      query?: {
        all?: boolean;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TeamList"];
        };
      };
    };
  };
  createTeam: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateTeamRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Team"];
        };
      };
    };
  };
  getTeam: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Team"];
        };
      };
    };
  };
  deleteTeam: {
    parameters: {
      query?: {
        handOverTo?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["Team"];
        };
      };
    };
  };
  updateTeam: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateTeamRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Team"];
        };
      };
    };
  };
  listTeamMembers: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TeamMemberList"];
        };
      };
    };
  };
  addTeamMember: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["AddTeamMemberRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["TeamMember"];
        };
      };
    };
  };
  removeTeamMember: {
    parameters: {
      path: {
        id: string;
        userId: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateTeamMember: {
    parameters: {
      path: {
        id: string;
        userId: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateTeamMemberRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TeamMember"];
        };
      };
    };
  };
  getInstallation: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Installation"];
        };
      };
    };
  };
  listInstallationEndpoints: {
    parameters: {
      query?: {
        account?: string;
        search?: string;
        limit?: number;
        after?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["InstallationEndpointList"];
        };
      };
    };
  };
  getSimulation: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Simulation"];
        };
      };
    };
  };
  simulate: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["SimulateRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Simulation"];
        };
      };
    };
  };
  listMachineModels: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MachineModelList"];
        };
      };
    };
  };
  fetchMachineModel: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["FetchMachineModelRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["MachineModel"];
        };
      };
    };
  };
  removeMachineModel: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateMachineModel: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateMachineModelRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MachineModel"];
        };
      };
    };
  };
  listSessions: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SessionList"];
        };
      };
    };
  };
  endSession: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  listUserSessions: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SessionList"];
        };
      };
    };
  };
  endUserSession: {
    parameters: {
      path: {
        id: string;
        sessionId: string;
      };
    };
    responses: {
      204: {};
    };
  };
  listS3Keys: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["S3KeyList"];
        };
      };
    };
  };
  createS3Key: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateS3KeyRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedS3Key"];
        };
      };
    };
  };
  deleteS3Key: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  listNoticeDestinations: {
    parameters: {
      query?: {
        scope?: "ACCOUNT" | "INSTALLATION";
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NoticeDestinationList"];
        };
      };
    };
  };
  createNoticeDestination: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateNoticeDestinationRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedNoticeDestination"];
        };
      };
    };
  };
  deleteNoticeDestination: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateNoticeDestination: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateNoticeDestinationRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NoticeDestination"];
        };
      };
    };
  };
  testNoticeDestination: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NoticeTest"];
        };
      };
    };
  };
  listNoticeDeliveries: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NoticeDeliveryList"];
        };
      };
    };
  };
  listSecrets: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SecretList"];
        };
      };
    };
  };
  createSecret: {
    parameters: {};
    requestBody: {
      content: {
        "application/json": components["schemas"]["CreateSecretRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Secret"];
        };
      };
    };
  };
  getSecret: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Secret"];
        };
      };
    };
  };
  deleteSecret: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {};
    };
  };
  updateSecret: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UpdateSecretRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Secret"];
        };
      };
    };
  };
  getHealth: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": {
            status: string;
          };
        };
      };
    };
  };
  getReadiness: {
    parameters: {};
    responses: {
      200: {
        content: {
          "application/json": {
            status: string;
          };
        };
      };
    };
  };
  getMetrics: {
    parameters: {};
    responses: {
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
}
