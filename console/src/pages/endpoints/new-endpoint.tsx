import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { showDone } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { bodyOf, NEW_ENDPOINT } from './endpoint-values.ts';

export function NewEndpointPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <Page title="New endpoint">
      <EndpointForm
        isNew
        initial={NEW_ENDPOINT}
        onSubmit={async (values) => {
          const body = { ...bodyOf(values), type: values.type };
          const endpoint = await unwrap(api.POST('/v2/serverless', { body }));
          await queries.invalidateQueries({ queryKey: ['endpoints'] });
          showDone(`${endpoint.name} is deployed.`);
          navigate(`/endpoints/${endpoint.id}`);
        }}
      />
    </Page>
  );
}
