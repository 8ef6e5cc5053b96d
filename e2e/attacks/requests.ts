import { login, type Credentials } from '../login.ts';
import { change, good, post, send, upgrade, type Knock } from './raw-http.ts';
import type { Report } from './report.ts';
import type { Target } from './stage.ts';

/** A way to be wrong: what it makes of a right request, and the status it gets. */
interface Wrong {
	attack: string;
	status: number;
	/** When that of an upgrade is another. */
	upgrade?: number;
	make: (knock: Knock) => Knock;
}

/** What another page in the same browser, or a name that leads here, would send with our credentials. */
function wrongs(port: number, credentials: Credentials, other: Credentials): Wrong[] {
	const ours = `127.0.0.1:${port}`;
	const origin = (attack: string, ...values: string[]): Wrong => ({
		attack: `Origin ${attack}`,
		status: 403,
		make: (knock) => change(knock, 'Origin', ...values),
	});
	const origins = [
		'http://evil.test',
		'null',
		'',
		`http://127.0.0.1:${port === 65_535 ? port - 1 : port + 1}`,
		'http://127.0.0.1',
		`http://${ours}.evil.test`,
		`http://evil.test:${port}`,
		`http://${ours}@evil.test`,
		`http://evil.test/http://${ours}`,
		`http://${ours}/`,
		`http://${ours}.`,
		`http://127.0.0.1.:${port}`,
		`http://127.0.0.1:0${port}`,
		`http://127.1:${port}`,
		`http://0.0.0.0:${port}`,
		`http://[::1]:${port}`,
		`http://localhost:${port}`,
		`http://LOCALHOST:${port}`,
		`HTTP://${ours}`,
		`https://${ours}`,
		`ws://${ours}`,
		'file://',
		`http://${ours} http://evil.test`,
	].map((value) => origin(value === '' ? 'empty' : value, value));

	const host = (name: string, status = 421): Wrong => ({
		attack: `Host ${name === '' ? 'empty' : name}`,
		status,
		// The page of such a name has an origin to match.
		make: (knock) => change(change(knock, 'Origin', `http://${name}`), 'Host', name),
	});
	const hosts = [
		`evil.test:${port}`,
		`0.0.0.0:${port}`,
		'',
		`${ours}.evil.test`,
		`127.0.0.1.evil.test:${port}`,
		`localhost.:${port}`,
		`LOCALHOST:${port}`,
		`127.1:${port}`,
		`2130706433:${port}`,
		`[::]:${port}`,
		`evil.test@${ours}`,
		`${ours}:${port}`,
	].map((name) => host(name));

	return [
		...origins,
		origin('none'),
		origin('twice', `http://${ours}`, `http://${ours}`),
		...hosts,
		// A forwarded port is another origin, and has log-ins of its own.
		host(`127.0.0.1:${port === 65_535 ? port - 1 : port + 1}`, 401),
		host(`localhost:${port}`, 401),
		// Node itself answers such a call, but not such an upgrade.
		{ attack: 'Host none', status: 400, upgrade: 421, make: (knock) => change(knock, 'Host') },
		...[
			[ours, `evil.test:${port}`],
			[`evil.test:${port}`, ours],
			[ours, ours],
		].map((two) => ({
			attack: `Host twice, ${two.join(' and ')}`,
			status: 421,
			make: (knock: Knock) => change(knock, 'Host', ...two),
		})),
		{
			attack: 'Host evil.test, X-Forwarded-* of ours',
			status: 421,
			make: (knock) =>
				['X-Forwarded-Host', 'X-Original-Host', 'X-Host'].reduce(
					(knock, name) => change(knock, name, ours),
					change(knock, 'Host', `evil.test:${port}`),
				),
		},
		{
			attack: 'Origin http://evil.test, X-Forwarded-* of ours',
			status: 403,
			make: (knock) =>
				change(
					change(change(knock, 'Origin', 'http://evil.test'), 'X-Forwarded-For', '127.0.0.1'),
					'Forwarded',
					`for=127.0.0.1;host=${ours}`,
				),
		},
		{
			attack: 'absolute form of the path',
			status: 400,
			make: (knock) => ({ ...knock, line: knock.line.replace(' /', ` http://${ours}/`) }),
		},
		{
			attack: 'absolute form of another host',
			status: 400,
			make: (knock) => ({ ...knock, line: knock.line.replace(' /', ' http://evil.test/') }),
		},
		...credentialsThatAreNone(credentials, other),
	];
}

/** The key is in another header with an upgrade than with a call. */
const keyHeader = ({ headers }: Knock) =>
	headers.some(([name]) => name === 'Authorization') ? 'Authorization' : 'Sec-WebSocket-Protocol';
const withKey = (knock: Knock, key: string) =>
	keyHeader(knock) === 'Authorization'
		? change(knock, 'Authorization', `Bearer ${key}`)
		: change(knock, 'Sec-WebSocket-Protocol', `holdfast, key.${key}`);
const withoutKey = (knock: Knock) =>
	keyHeader(knock) === 'Authorization'
		? change(knock, 'Authorization')
		: change(knock, 'Sec-WebSocket-Protocol', 'holdfast');

function credentialsThatAreNone({ key, cookie }: Credentials, other: Credentials): Wrong[] {
	const none = (attack: string, make: Wrong['make']): Wrong => ({ attack, status: 401, make });
	const [name, value] = cookie.split('=') as [string, string];
	const later = value.replace(/\.\d+\./, '.9999999999.');
	return [
		none('the key alone, without the cookie', (knock) => change(knock, 'Cookie')),
		none('the cookie alone, without the key', withoutKey),
		none('neither cookie nor key', (knock) => change(withoutKey(knock), 'Cookie')),
		none('the key of another log-in', (knock) => withKey(knock, other.key)),
		none('the cookie of another log-in', (knock) => change(knock, 'Cookie', other.cookie)),
		none('the cookie under another name', (knock) => change(knock, 'Cookie', `holdfast=${value}`)),
		none('a cookie with a later end', (knock) => change(knock, 'Cookie', `${name}=${later}`)),
		none('an empty key', (knock) => withKey(knock, '')),
		none('half of the key', (knock) => withKey(knock, key.slice(0, 20))),
		none('the cookie as the key', (knock) => withKey(knock, value)),
	];
}

/**
 * Each in three requests: an upgrade, a log-in, a lock. Whenever one is refused, the same request with
 * everything right is let in right after, so that none is refused for what it was not to be.
 */
export async function requests(report: Report, target: Target, locked: Target) {
	await upgrades(report, target);
	await logins(report, target);
	await locks(report, locked);
	await paths(report, locked);
	await endedLogin(report, locked);
}

const fresh = ({ holdfast }: Target) => login(holdfast.address());

async function upgrades(report: Report, target: Target) {
	const { port } = target;
	const [credentials, other] = [await fresh(target), await fresh(target)];
	const right = upgrade(credentials);
	for (const wrong of wrongs(port, credentials, other)) {
		report.begin(wrong.attack);
		const answer = await send(port, wrong.make(right));
		const control = await send(port, right);
		const status = wrong.upgrade ?? wrong.status;
		report.line('upgrade', String(status), but(answer.status, 101, control.status));
	}
}

/** A ticket that is refused is not used up: that is what lets the right request in after it. */
async function logins(report: Report, target: Target) {
	const { port, holdfast } = target;
	const [credentials, other] = [await fresh(target), await fresh(target)];
	for (const { attack, status, make } of wrongs(port, credentials, other)) {
		report.begin(attack);
		// With a ticket nothing else is needed; without one, the log-in that it had.
		const ticket = new URL(holdfast.address()).hash.replace('#ticket=', '');
		const renews = status === 401;
		const right = post('/api/login', credentials, renews ? '{}' : JSON.stringify({ ticket }));
		const answer = await send(port, make(right));
		const control = await send(port, right);
		const request = renews ? 'POST /api/login {}' : 'POST /api/login {ticket}';
		report.line(request, String(status), but(answer.status, 200, control.status));
	}
}

async function locks(report: Report, target: Target) {
	const { port } = target;
	let [credentials, other] = [await fresh(target), await fresh(target)];
	for (const { attack } of wrongs(port, credentials, other)) {
		report.begin(attack);
		const wrong = wrongs(port, credentials, other).find((one) => one.attack === attack)!;
		const right = post('/api/lock', credentials);
		const answer = await send(port, wrong.make(right));
		const kept = await good(port, credentials);
		const control = await send(port, right);
		const ended = !(await good(port, credentials));
		report.line(
			'POST /api/lock',
			String(wrong.status),
			but(answer.status, 204, control.status) +
				(kept ? '' : ', and the log-ins have ended') +
				(ended ? '' : ', and a lock that is right ends nothing'),
		);
		[credentials, other] = [await fresh(target), await fresh(target)];
	}
}

/** Other spellings of a way that is closed. */
async function paths(report: Report, target: Target) {
	const { port } = target;
	const credentials = await fresh(target);
	const bare = withoutKey(change(post('/api/lock', credentials), 'Cookie'));
	const line = (line: string) => ({ ...bare, line });
	const tries: [string, number, Knock][] = [
		['POST //api/lock', 405, line('POST //api/lock HTTP/1.1')],
		['POST /./api/lock', 405, line('POST /./api/lock HTTP/1.1')],
		['POST /x/../api/lock', 405, line('POST /x/../api/lock HTTP/1.1')],
		['POST /%61pi/lock', 405, line('POST /%61pi/lock HTTP/1.1')],
		['POST /API/lock', 405, line('POST /API/lock HTTP/1.1')],
		['POST /api/lock?x', 401, line('POST /api/lock?x HTTP/1.1')],
		['POST /api/lock/', 401, line('POST /api/lock/ HTTP/1.1')],
		['POST /api/login/../lock', 401, line('POST /api/login/../lock HTTP/1.1')],
		['GET /api/lock', 401, change(line('GET /api/lock HTTP/1.1'), 'Content-Length')],
		['PUT /api/lock', 401, line('PUT /api/lock HTTP/1.1')],
		['DELETE /', 405, line('DELETE / HTTP/1.1')],
		['OPTIONS *', 400, line('OPTIONS * HTTP/1.1')],
		['CONNECT', 0, line(`CONNECT 127.0.0.1:${port} HTTP/1.1`)],
		[
			'POST /, X-HTTP-Method-Override',
			405,
			change(line('POST / HTTP/1.1'), 'X-Original-URL', '/api/lock'),
		],
		[
			'two lengths of a body, one in chunks',
			400,
			{
				...change(post('/api/login', credentials), 'Transfer-Encoding', 'chunked'),
				body: '0\r\n\r\nPOST /api/lock HTTP/1.1\r\n\r\n',
			},
		],
		[
			'a body of 2 KB',
			400,
			post('/api/login', credentials, JSON.stringify({ ticket: 'x'.repeat(2_048) })),
		],
		['a header of 20 KB', 431, change(bare, 'X-Long', 'x'.repeat(20_000))],
	];
	for (const [attack, status, knock] of tries) {
		report.begin(attack);
		const answer = await send(port, knock);
		const kept = await good(port, credentials);
		report.line(
			knock.line.replace(' HTTP/1.1', '').slice(0, 48),
			status === 0 ? 'closed' : String(status),
			`${answer.status === 0 ? 'closed' : answer.status}${kept ? '' : ', and the log-ins have ended'}`,
		);
	}
}

async function endedLogin(report: Report, target: Target) {
	const { port } = target;
	const credentials = await fresh(target);
	const all: [string, Knock, number][] = [
		['upgrade', upgrade(credentials), 101],
		['POST /api/login {}', post('/api/login', credentials, '{}'), 200],
		['POST /api/lock', post('/api/lock', credentials), 204],
	];
	const before: number[] = [];
	for (const [, knock] of all) before.push((await send(port, knock)).status);
	report.begin('cookie and key of an ended log-in');
	for (const [index, [request, knock, right]] of all.entries()) {
		report.line(request, '401', but((await send(port, knock)).status, right, before[index]!));
	}
}

/** The status, and what is wrong if the right request was refused as well. */
const but = (status: number, right: number, control: number) =>
	control === right ? String(status) : `${status}, and ${control} when all is right`;
