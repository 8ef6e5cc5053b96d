/** What kind of failure a provider's error is, in words for people. */
export interface FailureKind {
	kind: 'rate limit' | 'overloaded' | 'network' | 'quota' | 'sign-in' | 'other';
	/** A short sentence without its full stop: "Rate limited". */
	title: string;
	/** A word of why, for the middle of a sentence: "too many requests". */
	cause: string;
	/** What it means, and whether trying again can help. */
	advice: string;
	/** Whether the same request may well succeed when it is sent again. */
	retryHelps: boolean;
}

const KINDS: [RegExp, FailureKind][] = [
	[
		/quota|billing|usage.?limit|out of budget|insufficient.?(credit|balance|funds)|credit balance|available balance|payment required|\b402\b/i,
		{
			kind: 'quota',
			title: 'The quota is used up',
			cause: 'quota used up',
			advice:
				'The account has reached a limit of its plan or its credit. Trying again helps only after that limit was raised or has reset.',
			retryHelps: false,
		},
	],
	[
		/\b40[13]\b|authenticat|unauthori[sz]ed|api.?key|permission|forbidden|credentials|token (has )?expired|log.?in|sign.?in/i,
		{
			kind: 'sign-in',
			title: 'The provider refused the sign-in',
			cause: 'sign-in refused',
			advice:
				'The key or log-in is missing, wrong or expired. Mend it in Pi (/login, or the API key in its environment); then trying again sends the same request.',
			retryHelps: false,
		},
	],
	[
		/\b429\b|rate.?limit|too many requests|ResourceExhausted/i,
		{
			kind: 'rate limit',
			title: 'Rate limited',
			cause: 'too many requests',
			advice:
				'The provider takes no more requests from this account for the moment. This usually passes within a minute.',
			retryHelps: true,
		},
	],
	[
		/\b(503|529)\b|overloaded|unavailable|at capacity|high demand|server.?busy|currently busy/i,
		{
			kind: 'overloaded',
			title: 'The provider is overloaded',
			cause: 'provider overloaded',
			advice: 'This usually passes within minutes.',
			retryHelps: true,
		},
	],
	[
		/ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|getaddrinfo|network|connection|socket|fetch failed|terminated|timed? ?out|ended without|stream ended|upstream|\b(502|504|520|524)\b|disconnected|reset|http.?2/i,
		{
			kind: 'network',
			title: 'The connection was lost',
			cause: 'connection lost',
			advice:
				'The provider could not be reached, or the connection to it broke. Check the network; trying again is safe.',
			retryHelps: true,
		},
	],
	[
		/\b5\d\d\b|internal.?(server)?.?error|server.?error/i,
		{
			kind: 'other',
			title: 'The provider failed',
			cause: 'error at the provider',
			advice: 'Something broke on the side of the provider. Trying again often helps.',
			retryHelps: true,
		},
	],
	[
		/context|too (long|large|many tokens)|maximum.*tokens|prompt is too/i,
		{
			kind: 'other',
			title: 'The conversation is too long for the model',
			cause: 'conversation too long',
			advice:
				'The request does not fit the model. Compact the conversation, or start a new one; trying again as it is will fail again.',
			retryHelps: false,
		},
	],
];

const UNKNOWN: FailureKind = {
	kind: 'other',
	title: 'The request failed',
	cause: 'request failed',
	advice: 'The provider refused the request. Trying again sends it once more as it was.',
	retryHelps: false,
};

/** Sorts a provider's raw error text. Limits of an account come first: they also say "429". */
export function failureKind(errorMessage: string): FailureKind {
	return KINDS.find(([pattern]) => pattern.test(errorMessage))?.[1] ?? UNKNOWN;
}
