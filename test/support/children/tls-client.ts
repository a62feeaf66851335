// Renews and deletes a domain at each of the addresses in turn, and prints the result of each call.
import { createServiceClient } from '../../../src/service/client.ts';
import { ServiceError } from '../../../src/service/errors.ts';
import { Secret } from '../../../src/service/secret.ts';
import { domainDelete, domainRenew } from '../../../src/service/tasks/domain.ts';

for (const jsonUrl of process.argv.slice(2)) {
  const client = createServiceClient({
    jsonUrl,
    credential: { method: 'password', user: 'customer', context: 4, password: new Secret('password') },
    jsonAuth: 'basic',
    timeoutMs: 10_000,
  });
  const calls = {
    renew: () => client.run(domainRenew, { name: 'cafe.rest', period: 1 }),
    delete: () => client.run(domainDelete, { name: 'cafe.rest' }),
  };
  for (const [name, call] of Object.entries(calls)) {
    process.stdout.write(`${name} ${new URL(jsonUrl).hostname}: ${await describeResult(call())}\n`);
  }
  await client.close();
}

async function describeResult(call: Promise<{ readonly httpStatus: number }>): Promise<string> {
  try {
    return `HTTP ${(await call).httpStatus}`;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { cause } = error;
    return `${error.kind} ${cause instanceof Error && 'code' in cause ? String(cause.code) : ''}`;
  }
}
