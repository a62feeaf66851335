// Looks up cafe.rest through each of the bootstrap files in turn, and prints each result.
import { createRdapClient } from '../../../src/registry/rdap/client.ts';

for (const bootstrapUrl of process.argv.slice(2)) {
  const client = createRdapClient({ bootstrapUrl, userAgent: 'test', now: () => new Date(), spacingMs: 0 });
  const result = await client.fetchRecord('cafe.rest');
  const outcome =
    'isSecure' in result ? `secure: ${result.isSecure} from ${result.server}` : result.problem.code;
  process.stdout.write(`${new URL(bootstrapUrl).pathname} ${result.kind} ${outcome}\n`);
  await client.close();
}
