import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { gpuCapacityQuery } from '../../../api/catalog-queries.ts';
import { api, unwrap } from '../../../api/client.ts';
import { Hint } from '../../../ui/hint.tsx';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded, Page, RowsSkeleton } from '../../../ui/page.tsx';
import { Name } from '../../../ui/text/record-name.tsx';
import { requestOf } from '../../models/resolve-model.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { duplicateValues, type EndpointValues, firstValues, newEndpointBody } from './endpoint-values.ts';

const PARENTS = [{ to: '/endpoints', label: 'Endpoints' }];

/** The form of a new endpoint; with `?from=<id>` it is filled with the settings of another one. */
export function NewEndpointPage() {
  const [params] = useSearchParams();
  const from = params.get('from');
  return (
    <Page title="New endpoint" parents={PARENTS}>
      {from === null ? <First /> : <Duplicate id={from} />}
    </Page>
  );
}

/** Waits for what is here: which pool is chosen depends on it. */
function First() {
  const { data, isPending } = useQuery(gpuCapacityQuery);
  if (isPending) return <RowsSkeleton />;
  return <NewEndpoint draftKey="new-endpoint" initial={firstValues(data?.gpus)} />;
}

function Duplicate({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['endpoint', id, 'to duplicate'],
    queryFn: async () => {
      const params = { path: { id } };
      const [endpoint, { models }] = await Promise.all([
        unwrap(api.GET('/v2/serverless/{id}', { params })),
        unwrap(api.GET('/v2/serverless/{id}/models', { params })),
      ]);
      return { endpoint, models: models.map(requestOf) };
    },
  });
  return (
    <Loaded query={query}>
      {({ endpoint, models }) => (
        <>
          <Hint>
            With the settings of{' '}
            <Link to={`/endpoints/${id}`}>
              <Name>{endpoint.name}</Name>
            </Link>
            , without its schedule.
          </Hint>
          <NewEndpoint key={id} draftKey={`endpoint-from-${id}`} initial={duplicateValues(endpoint, models)} />
        </>
      )}
    </Loaded>
  );
}

function NewEndpoint({ initial, draftKey }: { initial: EndpointValues; draftKey: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <EndpointForm
      draftKey={draftKey}
      initial={initial}
      onSubmit={async (values) => {
        const endpoint = await unwrap(api.POST('/v2/serverless', { body: newEndpointBody(values) }));
        await queries.invalidateQueries({ queryKey: ['endpoints'] });
        notifySuccess(`Deployed ${endpoint.name}.`);
        navigate(`/endpoints/${endpoint.id}`);
      }}
    />
  );
}
