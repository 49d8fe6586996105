import { POD_EXAMPLES } from './pod-examples.ts';
import { createPodRequest } from './pod-schemas.ts';
import type { PodWire } from './pod-wire.ts';

const CreateRequest = createPodRequest(true);

export const POD_WIRE_2026_07: PodWire = {
  schemas: [CreateRequest],
  examples: { CreatePodRequest: POD_EXAMPLES.CreatePodRequest },
  CreateRequest,
  sshByDefault: true,
  showsTemplate: true,
  createFailures: [],
  refuse: (error) => {
    throw error;
  },
};
