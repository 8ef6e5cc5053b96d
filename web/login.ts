const KEY = 'holdfast-key';
/** A connection may fail in the very moment of the log-in. */
const ATTEMPTS = 10;
const PAUSE_MS = 300;
const LIMIT_MS = 5_000;
const TICKET = /^#ticket=([\w-]+)$/;

/**
 * Trades the ticket that the address carries, if it does, for a log-in: a cookie, and a key that is
 * kept where only pages of this origin can read it. The address carries it no longer afterwards.
 */
export async function tradeTicket() {
	const ticket = TICKET.exec(location.hash)?.[1];
	if (ticket === undefined) return;
	history.replaceState(null, '', location.pathname + location.search);
	// Cookie and key have to be of one log-in, also when two tabs come at once.
	await (isSecureContext ? navigator.locks.request(KEY, () => trade(ticket)) : trade(ticket));
}

async function trade(ticket: string) {
	for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
		if ((await ask({ ticket })) !== undefined) return;
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	}
}

/** Whether the proxy says that this browser is not logged in; one that is away says nothing. */
export async function loggedOut(): Promise<boolean> {
	return (await ask({})) === 401;
}

/** What the socket offers: its name, and the key that lets it in. */
export const protocols = () => ['holdfast', `key.${localStorage.getItem(KEY) ?? 'none'}`];

/** Calls back when this browser has logged in since: in another tab, or by an address put into this one. */
export function onlogin(callback: () => void) {
	addEventListener('storage', ({ key }) => key === KEY && callback());
	addEventListener('hashchange', () => void tradeTicket().then(callback));
}

async function ask(body: { ticket?: string }): Promise<number | undefined> {
	try {
		const key = localStorage.getItem(KEY);
		const response = await fetch('/api/login', {
			method: 'POST',
			body: JSON.stringify(body),
			signal: AbortSignal.timeout(LIMIT_MS),
			headers: key === null ? {} : { Authorization: `Bearer ${key}` },
		});
		if (response.ok) {
			localStorage.setItem(KEY, ((await response.json()) as { key: string }).key);
		}
		return response.status;
	} catch {
		return undefined;
	}
}
