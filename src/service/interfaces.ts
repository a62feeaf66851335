import type { RequestIssue } from './request-issue.ts';
import type { Interface, TaskOutline } from './task.ts';

/** Which interfaces a task or credential can use. */
export type AvailableInterfaces = Readonly<Record<Interface, boolean>>;

/**
 * Two-factor authentication isn't documented for JSON, and XML needs a URL.
 * @param hasXmlAddress whether `SERVICE_XML_URL` is set
 */
export function getCredentialInterfaces(method: string, hasXmlAddress: boolean): AvailableInterfaces {
  return { json: method !== 'two_factor', xml: hasXmlAddress };
}

export type InterfaceChoice = { readonly interface: Interface } | { readonly unsupported: RequestIssue };

/** @param requestedInterface default: JSON if possible */
export function chooseInterface(
  task: TaskOutline,
  available: AvailableInterfaces,
  requestedInterface?: Interface,
): InterfaceChoice {
  if (task.json !== undefined && available.json && requestedInterface !== 'xml') return { interface: 'json' };
  if (task.xml !== undefined && requestedInterface !== 'json') {
    return available.xml ? { interface: 'xml' } : { unsupported: { code: 'xml_address_missing' } };
  }
  if (requestedInterface === 'xml' || task.json === undefined) {
    return { unsupported: { code: 'other_interface_needed' } };
  }
  return { unsupported: { code: 'json_takes_no_two_factor' } };
}

/** The interfaces that both the task and the credential support. */
export function getTaskInterfaces(task: TaskOutline, available: AvailableInterfaces): AvailableInterfaces {
  const isSupported = (via: Interface) => 'interface' in chooseInterface(task, available, via);
  return { json: isSupported('json'), xml: isSupported('xml') };
}
