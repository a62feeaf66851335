import type { Account } from '../../accounts/account.ts';
import type { InterfaceConstraint } from '../../orders/interface-constraint.ts';
import type { AvailableInterfaces } from '../../service/interfaces.ts';

/* Says which interface of the service a form uses, and why. */

/** Noun phrases for features that only one interface documents. */
export const CONSTRAINT_TEXTS: Readonly<Record<InterfaceConstraint['kind'], string>> = {
  backup: 'a backup target',
  choice_json: 'the choice of JSON',
  choice_xml: 'the choice of XML',
  email_redirect: 'an email redirect',
  first_name: 'a first name',
  last_name: 'a last name',
  mail_key: 'the mail key',
  mode_HTTP: 'HTTP mode',
  mode_frame: 'frame mode',
  mode_single: 'single mode',
  superior_email: 'the parent user’s email',
  superior_status: 'the parent user’s status',
  superior_substatus: 'the parent user’s substatus',
  title: 'a title',
};

export function formatXmlReason(constraint: InterfaceConstraint['kind']): string {
  return constraint === 'choice_xml' ? ', as you chose' : ` because of ${CONSTRAINT_TEXTS[constraint]}`;
}

/**
 * @param xmlReason why only XML is possible, such as ` because of a title`
 * @param xmlFeatures features of the form that only XML supports, such as `Titles and backup targets`
 */
export function interfaceNote(
  account: Account | undefined,
  availableInterfaces: AvailableInterfaces,
  xmlReason: string | undefined,
  xmlFeatures: string | undefined,
): string {
  if (account?.method === 'two_factor') {
    return 'Uses the service’s XML interface, the only one that accepts two-factor accounts.';
  }
  if (xmlReason !== undefined) return `Uses the service’s XML interface${xmlReason}.`;
  const jsonText = 'Uses the service’s JSON interface';
  if (xmlFeatures === undefined) return `${jsonText}, which supports all of these fields.`;
  return availableInterfaces.xml
    ? `${jsonText}. ${xmlFeatures} use XML automatically.`
    : `${jsonText}. ${xmlFeatures} need the XML interface, and its address isn’t set (SERVICE_XML_URL).`;
}
