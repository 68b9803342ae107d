mod custom_kinds;
mod parts;
mod policies;
mod webhooks;
