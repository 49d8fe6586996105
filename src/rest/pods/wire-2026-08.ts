import { LEAST_VCPUS } from '../shared/least-vcpus.ts';
import { refuseTemplate } from '../shared/refuse-template.ts';
import { POD_EXAMPLES } from './pod-examples.ts';
import { createPodRequest } from './pod-schemas.ts';
import type { PodWire } from './pod-wire.ts';

const CreateRequest = createPodRequest(false, LEAST_VCPUS['2026-08'], true);

export const POD_WIRE_2026_08: PodWire = {
  schemas: [CreateRequest],
  examples: { CreatePodRequest: POD_EXAMPLES.CreatePodRequest },
  CreateRequest,
  leastVcpus: LEAST_VCPUS['2026-08'],
  sshByDefault: false,
  showsTemplate: false,
  createFailures: ['notFound'],
  refuse: refuseTemplate,
};
