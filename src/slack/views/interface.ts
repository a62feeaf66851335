import type { Account } from '../../accounts/account.ts';
import type { AvailableInterfaces, InterfaceConstraints } from '../../orders/order-task.ts';

/*
 * Which interface of the service carries what a form asks for, and why. Who does not care can pass over it.
 */

/** @param xmlHas what the XML interface alone has for the form, such as `Titles and backup targets` */
export function interfaceNote(
  account: Pick<Account, 'method'> | undefined,
  reach: AvailableInterfaces,
  ties: InterfaceConstraints,
  xmlHas: string | undefined,
): string {
  if (account?.method === 'two_factor') {
    return 'Goes over the service’s XML interface, the only one that takes two-factor accounts.';
  }
  const [tied] = ties.xml;
  if (tied !== undefined) return `Goes over the service’s XML interface, because of ${tied.what}.`;
  const json = 'Goes over the service’s JSON interface';
  if (xmlHas === undefined) return `${json}, which has all of these fields.`;
  return reach.xml
    ? `${json}. ${xmlHas} go over XML by themselves.`
    : `${json}. ${xmlHas} need the XML interface, whose address is not set here (SERVICE_XML_URL).`;
}
