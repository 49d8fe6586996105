import { POD_ACTIONS } from '../../domain/pods/pod.ts';
import { includeQuery } from '../shared/include-query.ts';
import { closed, dateTime, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const CreatePodQuery = Type.Object({
  private: Type.Optional(Type.Boolean({ description: 'Podyard only: its HTTP ports need a key of its owner.' })),
  stopAfter: Type.Optional(dateTime({ description: 'Podyard only: when it is stopped, in the future.' })),
  terminateAfter: Type.Optional(dateTime({ description: 'Podyard only: when it is terminated, in the future.' })),
});

export const PodActionRequest = closed({ action: stringEnum(POD_ACTIONS) }, { $id: 'PodActionRequest' });

export const PodAccess = closed(
  {
    private: Type.Boolean({
      description:
        'HTTP ports need an API key of the owner that may read the pod: as a bearer token, as the password of Basic authentication, or in the header `X-Podyard-Key`. The pod does not see the key.',
    }),
  },
  { $id: 'PodAccess', description: 'Podyard only: who can reach the HTTP ports of a pod through the proxy.' },
);

const nullableTime = (description: string) => nullableString({ format: 'date-time', description });

export const PodLifetime = closed(
  {
    stopAfter: nullableTime('When the pod is stopped, in the future. Null: never.'),
    terminateAfter: nullableTime('When the pod is terminated, in the future. Null: never.'),
  },
  { $id: 'PodLifetime', description: 'Podyard only: when a pod is stopped and terminated without another request.' },
);

export const PodJupyter = Type.Object(
  {
    password: nullableString({
      description:
        'What `JUPYTER_PASSWORD` holds. Null: the pod starts no Jupyter, never started yet, or has its own in `env`.',
    }),
  },
  { $id: 'PodJupyter', description: 'Podyard only: how to sign in to the Jupyter of a pod.' },
);

export const PodQuery = includeQuery('`REASON`: adds why each pod waits or failed.');

export const PodListQuery = Type.Object({
  ...PodQuery.properties,
  includeClusterPods: Type.Optional(Type.Boolean({ description: 'Also lists the pods of clusters. Default: false.' })),
});

export const PodParams = Type.Object({ id: Type.String({ description: 'Pod identifier.' }) });
