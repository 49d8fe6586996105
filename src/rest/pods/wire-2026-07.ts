import { LEAST_VCPUS } from '../shared/least-vcpus.ts';
import { POD_EXAMPLES } from './pod-examples.ts';
import { createPodRequest } from './pod-schemas.ts';
import type { PodWire } from './pod-wire.ts';

const CreateRequest = createPodRequest(true, LEAST_VCPUS['2026-07'], false);

export const POD_WIRE_2026_07: PodWire = {
  schemas: [CreateRequest],
  examples: { CreatePodRequest: POD_EXAMPLES.CreatePodRequest },
  CreateRequest,
  leastVcpus: LEAST_VCPUS['2026-07'],
  sshByDefault: true,
  showsTemplate: true,
  createFailures: [],
  refuse: (error) => {
    throw error;
  },
};
